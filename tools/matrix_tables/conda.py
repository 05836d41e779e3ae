"""conda.json: builds of torch on conda channels: channel x torch release x variant x platform."""

from __future__ import annotations

import json
import re
from collections import defaultdict

from packaging.version import Version

from gpuenv.matrix_checks.serialise import python_order
from gpuenv.model.capability import parse_compute_capability
from matrix_tables.facts import DATA, Facts, Row, UnusableFacts

_PLATFORMS = ("linux-64", "linux-aarch64", "win-64")
_FORGE, _PYTORCH = "conda-forge", "pytorch"
_FEEDSTOCK = "https://github.com/conda-forge/pytorch-cpu-feedstock"
_COMMANDS = "conda_install_commands.csv"
_PREVIOUS = "https://pytorch.org/get-started/previous-versions/"
_EXTRA = {"nvidia", _FORGE}
_FIRST_IN_PARTS = (12,)  # the CUDA major that conda-forge has as packages of its own, not as cudatoolkit

# until torch 1.10.2 the channel's builds were for the Pythons of the wheels, 3.6 the oldest of them;
# `pytorch=1.10.2=py3.6_cuda11.3_cudnn8.2.0_0` stands in people's exports
_OLDEST, _FIRST_WITHOUT = "3.6", Version("1.11")
_BUILT_FOR = "https://github.com/pytorch/pytorch .circleci/cimodel/data/dimensions.py at 016030acc4ff"


def build_conda(facts: Facts) -> list[Row]:
    """Make the rows of conda.json, sorted; raise UnusableFacts for a fact that can't be read."""
    rows = [*_forge_rows(facts), *_pytorch_rows(facts)]
    return sorted(
        rows, key=lambda row: (row["channel"], Version(row["torch"]), row["platform"], _cuda_key(row["cuda"]))
    )


def _cuda_key(cuda: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in cuda.split(".")) if cuda else ()


# conda-forge


def _forge_rows(facts: Facts) -> list[Row]:
    made = {
        (load["torch"], load["platform"], load["cuda"]): load
        for load in json.loads((DATA / "conda_forge.json").read_text(encoding="utf-8"))
    }
    wanted = [fact for fact in facts.table("condaforge_pytorch.csv") if fact["subdir"] in _PLATFORMS]
    return [_forge_row(fact, made.get((fact["version"], fact["subdir"], fact["cuda"]))) for fact in wanted]


def _forge_row(fact: dict[str, str], made: Row | None) -> Row:
    cuda = fact["cuda"] or None
    if cuda and made is None:
        raise UnusableFacts(f"conda_forge.json: no build scripts of {fact['version']} for CUDA {cuda}")
    needs = fact["run_constraint"] if cuda else ""
    toolkit = re.fullmatch(r"cudatoolkit ([\d.]+)", needs)
    # its metapackage keeps the CUDA libraries at the release that torch was built with
    release = cuda if "cuda-version" in needs and _cuda_key(cuda) >= _FIRST_IN_PARTS else None
    return {
        "channel": _FORGE,
        "torch": str(Version(fact["version"])),
        "variant": _variant(cuda),
        "cuda": cuda,
        "platform": fact["subdir"],
        "pythons": _pythons(fact["pythons"].split()),
        "architectures": _targets(made["architectures"]) if made else [],
        "cudnn": _cudnn(made["cudnn"]) if made else None,
        "glibc": made["glibc"] if made else None,
        "build": f"{_variant(cuda)}*".replace("cu", "cuda") if cuda else "cpu*",
        "requires": [f"cudatoolkit {toolkit[1]}.*"]
        if toolkit
        else [f"cuda-version {release}.*"]
        if release
        else [],
        "channels": [_FORGE],
        "torchvision": [],
        "torchaudio": [],
        "source": f"{_FEEDSTOCK}/tree/{fact['last_commit']} ({fact['date']})",
        "evidence": "matrix",
    }


def _targets(messages: list[str]) -> list[str]:
    """Read a list of TORCH_CUDA_ARCH_LIST: `5.0+PTX` is machine code and PTX."""
    values = []
    for word in messages:
        capability = word.removesuffix("+PTX")
        number = capability.replace(".", "")
        parse_compute_capability(capability.rstrip("a"))
        values += [f"sm_{number}"] + ([f"compute_{number}"] if word.endswith("+PTX") else [])
    return values


def _cudnn(message: str | None) -> str | None:
    return message if message and re.fullmatch(r"\d+(\.\d+)*", message) else None


# the pytorch channel


def _pytorch_rows(facts: Facts) -> list[Row]:
    builds: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for fact in facts.table("conda_pytorch_channel.csv"):
        builds[fact["version"], fact["cuda"]].append(fact)
    commands = {(item["torch"], item["cuda"]): item for item in facts.table(_COMMANDS)}
    rows = [_pytorch_row(fields, commands.get(key)) for key, fields in builds.items()]
    facts.left_out += [_left_out(row) for row in rows if not row["architectures"]]
    rows = [row for row in rows if row["architectures"]]
    pythons: dict[str, set[str]] = defaultdict(set)
    stacks: dict[str, Row] = {}
    for row in rows:
        pythons[row["torch"]] |= set(row["pythons"])
        stacks[row["torch"]] = row
    for (torch, cuda), command in commands.items():
        if cuda == "cpu" and torch in stacks and command["dependency"] == "cpuonly":
            rows.append(_cpu_row(stacks[torch], sorted(pythons[torch], key=python_order)))
    return rows


def _pytorch_row(fields: list[dict[str, str]], command: dict[str, str] | None) -> Row:
    first = fields[0]
    cuda = first["cuda"]
    in_each = [fact["sm_in_binary"].split() for fact in fields if fact["sm_in_binary"]]
    in_all = [item for item in in_each[0] if all(item in others for others in in_each)] if in_each else []
    return {
        "channel": _PYTORCH,
        "torch": str(Version(first["version"])),
        "variant": _variant(cuda),
        "cuda": cuda,
        "platform": first["subdir"],
        "pythons": _pythons([*_unlisted(first["version"]), *(fact["python"] for fact in fields)]),
        "architectures": _targets(in_all),
        "cudnn": first["cudnn"] or None,
        "glibc": None,
        "build": f"py{{python}}_cuda{cuda}*",
        "requires": [_requirement(first["cuda_dependency"])],
        "channels": _channels(first["channels"], command),
        "torchvision": first["torchvision"].split(),
        "torchaudio": first["torchaudio"].split(),
        "source": f"conda_pytorch_channel.csv: {first['source']}; {_PREVIOUS}{_source_of_unlisted(first)}",
        "evidence": "matrix",
    }


def _unlisted(torch: str) -> list[str]:
    """The Pythons of the channel's builds that the table of architectures left out."""
    return [_OLDEST] if Version(torch) < _FIRST_WITHOUT else []


def _source_of_unlisted(fact: dict[str, str]) -> str:
    return f"; Python {_OLDEST}: {_BUILT_FOR}" if _unlisted(fact["version"]) else ""


def _left_out(row: Row) -> str:
    return f"conda {row['channel']} {row['torch']} {row['variant']}: no architecture is in each of its builds"


def _cpu_row(stack: Row, pythons: list[str]) -> Row:
    return stack | {
        "variant": "cpu",
        "cuda": None,
        "pythons": pythons,
        "architectures": [],
        "cudnn": None,
        "build": "py{python}_cpu*",
        "requires": ["cpuonly"],
        "channels": [_PYTORCH, _FORGE],
        "source": f"{_COMMANDS}: {_PREVIOUS}",
    }


def _requirement(message: str) -> str:
    """`pytorch-cuda=12.4` as three fields at most; `feature package cuda80` is a package of that name."""
    name, _, version = message.removeprefix("feature package ").partition("=")
    return f"{name} {version}.*" if version else name


def _channels(message: str, command: dict[str, str] | None) -> list[str]:
    """The channels in order; conda-forge last of all, for Python and what else is needed.

    Where either of two has the CUDA libraries, conda-forge does: mirrors seldom carry `nvidia`.
    """
    words = [*message.split(";"), *(command["channels"].split(";") if command else ())]
    named = [word for word in words if " or " not in word]
    if unknown := {*named} - {_PYTORCH, *_EXTRA}:
        raise UnusableFacts(f"conda_pytorch_channel.csv: `{unknown}` are no channels known here")
    needs_nvidia = "nvidia" in message.split(";")
    return [_PYTORCH, *(["nvidia"] if needs_nvidia else []), _FORGE]


def _variant(cuda: str | None) -> str:
    return f"cu{cuda.replace('.', '')}" if cuda else "cpu"


def _pythons(messages: list[str]) -> list[str]:
    return sorted({f"cp{item.replace('.', '')}" for item in messages}, key=python_order)
