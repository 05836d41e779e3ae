"""What conda's channels have of the pytorch that a text asks for, and the line of pip that brings it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from packaging.version import InvalidVersion, Version

from gpuenv import matrices
from gpuenv.explanation.reported_machine import driver_cuda_of, driver_of, machine_of
from gpuenv.explanation.wheels.commands import index_address
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs, Row
from gpuenv.model.variant import CudaVersion, parse_cuda_version
from gpuenv.model.wheel import Platform, TorchBuild
from gpuenv.signatures.reported import Reported

_PYTORCH, _FORGE = "pytorch", "conda-forge"
_COMPANIONS = ("torchvision", "torchaudio")
_SUBDIRS: dict[str, Platform] = {"win-64": "win-64", "linux-aarch64": "linux-aarch64"}


def conda_facts(reported: Reported, facts: Mapping[str, str], knowledge: Knowledge) -> dict[str, str]:
    """Return what follows from `conda_torch`, the pytorch that conda was asked for; nothing on a Mac.

    `conda_last` is the last release in the channel pytorch; `conda_pip_line`, `conda_forge_line` are what to
    type for that of pip and conda-forge; where there is no build of it for `conda_python_asked`,
    `conda_python` is the nearest Python with one, `conda_pythons` are all. `conda_pip_python` is the newest
    of pip's. `conda_wrong` is a companion that was asked for and belongs to another pytorch, `conda_right`
    the one that belongs to it.
    """
    if facts.get("conda_platform", "").startswith("osx") or "mac_path" in facts:
        return {}
    machine = machine_of(reported, knowledge)
    platform = machine.platform or _SUBDIRS.get(facts.get("conda_platform", ""), "linux-64")
    known = matrices.load("conda")
    rows = [row for row in known if row["platform"] == platform]
    found = {"conda_last": str(max(Version(row["torch"]) for row in known if row["channel"] == _PYTORCH))}
    asked = facts["conda_torch"]
    driver = driver_cuda_of(machine, platform, knowledge)
    wanted = _cuda(facts.get("conda_cuda_asked")) or driver
    limit = min(wanted, driver) if wanted and driver else wanted
    if line := _pip_line(asked, limit, platform, facts, knowledge):
        found["conda_pip_line"] = line
    if line := _forge_line(asked, limit, rows):
        found["conda_forge_line"] = line
    found |= _companions(asked, facts, knowledge)
    channel = _PYTORCH if "conda_pytorch_channel" in facts else _FORGE
    of_release = [row for row in rows if row["channel"] == channel and _is(row["torch"], asked)]
    wheels = [{"pythons": build.pythons} for build in _cuda_builds(asked, platform, knowledge)]
    if wheels:
        minors = {int(tag[3:]) for row in wheels for tag in row["pythons"] if tag[3:].isdigit()}
        found["conda_pip_python"] = f"3.{max(minors)}"
    return found | _python(facts.get("conda_python_asked", ""), of_release or wheels)


def conda_driver_facts(reported: Reported, facts: Mapping[str, str], knowledge: Knowledge) -> dict[str, str]:
    """Return `conda_driver_line`: what conda is given for the pytorch of a text that its driver runs.

    That is the same release where the channel pytorch has one for `driver_cuda` at most, else the nearest
    older or, before the first, newer one, with the companions that the text asks conda for; its Python stays.
    """
    machine = machine_of(reported, knowledge)
    platform = machine.platform or "linux-64"
    system: DriverOs = "windows" if platform == "win-64" else "linux"
    with suppress(InvalidVersion, ValueError):
        driver = Version(driver_of(reported, knowledge, windows=system == "windows") or "")
        asked = Version(facts.get("conda_torch") or facts["torch_release"])
        newest = knowledge.driver_cuda(driver, system)
        python = facts.get("conda_python_asked") or machine.python or ""
        served = [
            (Version(row["torch"]), parse_cuda_version(row["cuda"]), row)
            for row in matrices.load("conda")
            if row["channel"] == _PYTORCH and row["platform"] == platform and row["cuda"]
            if not python or f"cp{python.replace('.', '')}" in row["pythons"]
        ]
        own = [item for item in served if newest and item[1] <= newest]
        if own:
            release = max((item[0] for item in own if item[0] <= asked), default=min(item[0] for item in own))
            row = max((item for item in own if item[0] == release), key=lambda item: item[1])[2]
            return {"driver_cuda": str(newest), "conda_driver_line": _conda_line(str(release), row, facts)}
    return {}


def _conda_line(release: str, row: Row, facts: Mapping[str, str]) -> str:
    """Return the line for a row: `conda install pytorch=1.7.1 cudatoolkit=10.1 -c pytorch`."""
    own = [f"{name}={row[name][0]}" for name in _COMPANIONS if f"conda_{name}" in facts and row.get(name)]
    needs = [need.removesuffix(".*").replace(" ", "=", 1) for need in row["requires"]]
    channels = [f"-c {name}" for name in row["channels"] if name != _FORGE]
    return " ".join(("conda install", f"pytorch={release}", *own, *needs, *channels))


def _is(release: str, asked: str) -> bool:
    return f"{release}.".startswith(f"{asked}.")


def _companions(asked: str, facts: Mapping[str, str], knowledge: Knowledge) -> dict[str, str]:
    known = knowledge.companions_of(Version(asked))
    for name in _COMPANIONS:
        own = facts.get(f"conda_{name}_asked")
        if own and known.get(name) and Version(own) not in known[name]:
            return {"conda_wrong": f"{name} {own}", "conda_right": f"{name}={known[name][0]}"}
    return {}


def _cuda(text: str | None) -> CudaVersion | None:
    with suppress(ValueError):
        return parse_cuda_version(text or "")
    return None


def _cuda_builds(asked: str, platform: Platform, knowledge: Knowledge) -> list[TorchBuild]:
    return [
        build
        for build in knowledge.builds_of(platform)
        if _is(str(build.torch), asked) and build.variant.cuda and build.index != "pypi"
    ]


def _pip_line(
    asked: str,
    limit: CudaVersion | None,
    platform: Platform,
    facts: Mapping[str, str],
    knowledge: Knowledge,
) -> str | None:
    builds = _cuda_builds(asked, platform, knowledge)
    if not builds:
        return None
    torch = max(build.torch for build in builds)
    build = _nearest([build for build in builds if build.torch == torch], limit)
    known = knowledge.companions_of(torch)
    names = [name for name in _COMPANIONS if f"conda_{name}" in facts and known.get(name)]
    wanted = " ".join((f"torch=={torch}", *(f"{name}=={known[name][0]}" for name in names)))
    return f"pip install {wanted} --index-url {index_address(str(build.variant))}"


def _nearest(builds: list[TorchBuild], limit: CudaVersion | None) -> TorchBuild:
    """Return the build of the newest CUDA up to a limit, else of the oldest."""
    pairs = [(build.variant.cuda, build) for build in builds if build.variant.cuda]
    below = [pair for pair in pairs if limit is None or pair[0] <= limit]
    pick = max(below, key=lambda pair: pair[0]) if below else min(pairs, key=lambda pair: pair[0])
    return pick[1]


def _forge_line(asked: str, limit: CudaVersion | None, rows: Iterable[Row]) -> str | None:
    there = [row for row in rows if row["channel"] == _FORGE and row["cuda"] and _is(row["torch"], asked)]
    if not there:
        return None
    cudas = sorted({parse_cuda_version(row["cuda"]) for row in there})
    below = [cuda for cuda in cudas if limit is None or cuda <= limit]
    return f'conda install -c conda-forge "pytorch-gpu={asked}" "cuda-version={(below or cudas)[-1]}"'


def _python(asked: str, rows: Iterable[Row]) -> dict[str, str]:
    minors = sorted({int(tag[3:]) for row in rows for tag in row["pythons"] if tag[3:].isdigit()})
    own = asked.partition(".")[2]
    if not minors or not own.isdigit() or int(own) in minors:
        return {}
    nearest = min(minors, key=lambda minor: abs(minor - int(own)))
    return {"conda_python": f"3.{nearest}", "conda_pythons": f"3.{minors[0]}–3.{minors[-1]}"}
