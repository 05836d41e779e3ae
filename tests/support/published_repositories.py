"""Forty repositories as papers published them, and a judge of what `plan --adapt` makes of each.

tests/repositories has their dependency files, shortened to what matters; expected.json says of each where it
comes from and, for some machines, which answers are right. The judge goes by the matrices' rows alone: none
of the program's rules are asked whether a build runs somewhere.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from deciding import machine
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from running import Done

from gpuenv.model.machine import FoundPython
from gpuenv.model.machine_json import render_machine

FOLDER = Path(__file__).parent.parent / "repositories"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
KNOWN_FAILURES = {
    case: cause
    for cause, cases in json.loads((FOLDER / "known_failures.json").read_text(encoding="utf-8")).items()
    for case in cases
}
CASES = tuple((name, key) for name, item in sorted(EXPECTED["repositories"].items()) for key in item["cases"])
_MATRICES = FOLDER.parent.parent / "matrices"
_PYTHONS = tuple(FoundPython(f"3.{minor}.9", f"/usr/bin/python3.{minor}") for minor in range(8, 14))
# The least driver on Linux of each family of CUDA, by minor-version compatibility, and of older releases.
_FAMILY_FLOORS = {11: Version("450.80.02"), 12: Version("525.60.13"), 13: Version("580.65.06")}
_OLDER_FLOORS = {
    "8.0": "375.26",
    "9.0": "384.81",
    "9.2": "396.26",
    "10.0": "410.48",
    "10.1": "418.39",
    "10.2": "440.33",
}
_CAPABILITIES = {"P": (6, 1), "V": (7, 0), "A": (8, 9), "H": (9, 0), "B": (12, 0)}
_PYTORCH_CUDA = {"11.6", "11.7", "11.8", "12.1", "12.4"}  # all that the channel pytorch ever had
_PATCH = shutil.which("patch")
# Libraries that only conda installs: on PyPI these names are nobody's or a stranger's.
_OF_CONDA_ALONE = {
    "libffi",
    "ncurses",
    "openssl",
    "bzip2",
    "readline",
    "xz",
    "zlib",
    "libgcc-ng",
    "python-abi",
    "blas",
}
_OF_WINDOWS = re.compile(
    r"(pywin32|vc|ucrt|vc14_runtime|vs2015_runtime|win_inet_pton|m2w64-.*|msys2-conda-epoch)$"
)


def save_machine(key: str, where: Path) -> Path:
    """Write one of the machines as `gpuenv detect --json` does, with Pythons from 3.8 to 3.13."""
    item = EXPECTED["machines"][key]
    made = replace(machine({"gpus": [item["gpu"]], "driver": item["driver"]}), pythons=_PYTHONS)
    path = where / f"{key}.json"
    path.write_text(json.dumps(render_machine(made)), encoding="utf-8")
    return path


def words(name: str, saved: Path) -> tuple[str, ...]:
    """Return the arguments of a run in the folder above a repository's copy."""
    return ("plan", "--adapt", name, "--offline", "--machine", str(saved), "--json")


def failures(name: str, key: str, done: Done, folder: Path) -> list[str]:
    """Compare an answer with what is expected: a sentence for each thing that is not as it should be."""
    case = EXPECTED["repositories"][name]["cases"][key]
    if done.status not in case.get("exit", [0]):
        return [f"exit {done.status}: {_message(done)}"]
    said = _said(done)
    found = [f"does not say {item}" for item in case.get("said", ()) if not re.search(item, said)]
    if done.status:
        return found
    data = done.data
    found += _lost(case, data, done.envelope["warnings"])
    torch = next((item for item in data["packages"] if item["name"] in {"torch", "pytorch"}), None)
    if torch is None or not case["torch"]:
        return found + ([] if (torch is None) is not bool(case["torch"]) else [f"torch: {torch}"])
    version = Version(torch["version"])
    if not any(_holds(item, version) for item in case["torch"]):
        found.append(f"torch {version.public}, not {' or '.join(case['torch'])}")
    if "python" in case and not _holds(case["python"], Version(data["python"])):
        found.append(f"Python {data['python']}, not {case['python']}")
    if not _runs(torch, data["python"], key):
        found.append(
            f"torch {torch['version']} ({torch['variant']}) for Python {data['python']} does not run there"
        )
    found += _companions(case, data)
    found += _changes(case, data["adapted"]["changes"])
    return found + _patched(data["adapted"], folder, torch)


def _said(done: Done) -> str:
    """Return all that was said but the patch, whose context is what the files said before."""
    document = done.envelope
    data = dict(document["data"] or {})
    data.pop("machines", None)
    data["adapted"] = {key: item for key, item in data.get("adapted", {}).items() if key != "patch"}
    return json.dumps({**document, "data": data}, ensure_ascii=False) + done.err


def _lost(case: dict[str, Any], data: dict[str, Any], warnings: list[dict[str, str]]) -> list[str]:
    """Say which lines are nowhere in the answer, and which have to be named and are not."""
    changes = [f"{item['project']} {item['old']} {item['why']}" for item in data["adapted"]["changes"]]
    named = "\n".join([*changes, *(item["message"] for item in warnings)])
    planned = "\n".join([named, *data["pins"], *data["requirements"]])
    found = [f"is silent of {item}" for item in case.get("flagged", ()) if not re.search(item, named)]
    found += [f"loses {item}" for item in case.get("planned", ()) if not re.search(item, planned)]
    if data["manager"] in {"uv", "pip"}:
        names = {canonicalize_name(re.split(r"[ @=<>!~\[;]", item)[0]) for item in data["requirements"]}
        if names & _OF_CONDA_ALONE:
            found.append(f"takes from PyPI: {' '.join(sorted(names & _OF_CONDA_ALONE))}")
    return found


def _message(done: Done) -> str:
    try:
        return str(done.error["message"]).split("\n", maxsplit=1)[0][:160]
    except (ValueError, TypeError, AssertionError):
        return (done.err.strip().splitlines() or ["nothing was printed"])[0][:160]


def _holds(wanted: str, version: Version) -> bool:
    specifier = wanted if wanted[0] in "<>=!" else f"=={wanted}"
    return Version(version.base_version) in SpecifierSet(specifier)


@cache
def _rows(table: str) -> list[dict[str, Any]]:
    return list(json.loads((_MATRICES / f"{table}.json").read_text(encoding="utf-8"))["rows"])


def _runs(torch: dict[str, Any], python: str, key: str) -> bool:
    """Whether a published build of torch is for that Python, the machine's GPU and its driver."""
    base, tag = Version(torch["version"]).public, "cp" + python.replace(".", "")
    table = "conda" if torch.get("channel") else "torch"
    return any(
        row["torch"] == base
        and row["variant"] == torch["variant"]
        and row["platform"] == "linux-64"
        and tag in row["pythons"]
        and _driver_runs(row["cuda"], Version(EXPECTED["machines"][key]["driver"]))
        and any(_has_code(name, _CAPABILITIES[key]) for name in row["architectures"])
        for row in _rows(table)
    )


def _driver_runs(cuda: str | None, driver: Version) -> bool:
    if cuda is None:
        return False
    floor = _FAMILY_FLOORS.get(int(cuda.split(".")[0])) or Version(_OLDER_FLOORS[cuda])
    return driver >= floor


def _has_code(architecture: str, capability: tuple[int, int]) -> bool:
    kind, _, digits = architecture.partition("_")
    target = (int(digits[:-1]), int(digits[-1])) if digits.isdigit() else (99, 9)
    if kind == "compute":
        return target <= capability
    return target[0] == capability[0] and target[1] <= capability[1]


def _companions(case: dict[str, Any], data: dict[str, Any]) -> list[str]:
    versions = {
        canonicalize_name(item["name"]): Version(item["version"]).base_version for item in data["packages"]
    }
    return [
        f"{name} {versions.get(canonicalize_name(name))}, not {wanted}"
        for name, wanted in case.get("companions", {}).items()
        if versions.get(canonicalize_name(name)) != wanted
    ]


def _changes(case: dict[str, Any], changes: list[dict[str, Any]]) -> list[str]:
    moved = {canonicalize_name(item["project"]): item for item in changes if _is_move(item)}
    found = [f"{item['new']} beside a GPU" for item in changes if "+cpu" in (item["new"] or "")]
    found += [
        f"{name} moved: {moved[canonicalize_name(name)]['old']} -> {moved[canonicalize_name(name)]['new']}"
        for name in case.get("kept", ())
        if canonicalize_name(name) in moved
    ]
    found += [f"{name} stayed" for name in case.get("moved", ()) if canonicalize_name(name) not in moved]
    if case.get("unchanged") and moved:
        found.append("needless: " + "; ".join(f"{item['old']} -> {item['new']}" for item in moved.values()))
    return found


def _is_move(change: dict[str, Any]) -> bool:
    """Whether a line now says another release: the same one with its variant (`+cu118`) is where it was."""
    return bool(change["old"]) and change["old"] != re.sub(r"\+(cu\d+|cpu)", "", change["new"] or "")


def _patched(adapted: dict[str, Any], folder: Path, torch: dict[str, Any]) -> list[str]:
    """Apply the patch to the copy, and look at what an environment file says afterwards."""
    if adapted["patch"] and _PATCH:
        given = adapted["patch"].encode()
        done = subprocess.run(
            (_PATCH, "-p1", "-s", "--binary"), cwd=folder, input=given, capture_output=True, check=False
        )
        if done.returncode:
            return [f"the patch does not apply: {done.stdout.decode()[:120]}"]
    return [
        sentence
        for file in adapted["files"]
        if Path(file["path"]).suffix in {".yml", ".yaml"} and Path(file["path"]).name != "cog.yaml"
        for sentence in _solvable((folder / file["path"]).read_text(encoding="utf-8"), file["path"], torch)
    ]


def _solvable(text: str, path: str, torch: dict[str, Any]) -> list[str]:
    """Say what no conda solver can hold together of an environment file, as far as its specs tell."""
    items = yaml.safe_load(text)["dependencies"]
    specs = [
        re.split(r"[ =<>!]+", item.split("::")[-1].strip(), maxsplit=2)
        for item in items
        if isinstance(item, str)
    ]
    pinned = {parts[0]: parts[1:] for parts in specs}
    pips = [line for item in items if isinstance(item, dict) for line in item.get("pip", ()) or ()]
    python = (pinned.get("python") or [""])[0]
    tag = "py" + "".join(python.split(".")[:2]) if python else ""
    found = []
    for name, rest in pinned.items():
        build = rest[1] if len(rest) > 1 else ""
        of_python = re.match(r"py(2\d|3\d+)(?=[_h]|$)", build)
        if of_python and tag and of_python[0] != tag:
            found.append(f"{path}: {name}={'='.join(rest)} beside Python {python}")
        of_torch = re.search(r"torch_(\d+\.\d+\.\d+)", build)
        if of_torch and pinned.get("pytorch", [""])[0] not in {of_torch[1], ""}:
            found.append(f"{path}: {name}={'='.join(rest)} beside pytorch {pinned['pytorch'][0]}")
        if of_torch and "pytorch" not in pinned:
            found.append(f"{path}: {name}={'='.join(rest)} without conda's pytorch")
        of_cuda = re.match(r"dgl-cuda(\d+)\.(\d+)$", name)
        if of_cuda and torch["variant"] != f"cu{of_cuda[1]}{of_cuda[2]}":
            found.append(f"{path}: {name} beside a torch of {torch['variant']}")
        if _OF_WINDOWS.match(name):
            found.append(f"{path}: {name} is for Windows")
    owner = next((item.split("::")[0] for item in items if re.match(r".+::pytorch\b(?!-)", str(item))), None)
    if owner and torch.get("channel") not in {owner, None}:
        found.append(f"{path}: {owner}::pytorch, where {torch['channel']}'s is planned")
    cuda = (pinned.get("pytorch-cuda") or [""])[0].strip("*.")
    if cuda and ".".join(cuda.split(".")[:2]) not in _PYTORCH_CUDA:
        found.append(f"{path}: pytorch-cuda={cuda} was never published")
    if "pytorch" in pinned and any(re.match(r"torch\b(?![-_])", str(line)) for line in pips):
        found.append(f"{path}: torch twice, of conda and of pip")
    return found
