"""What belongs to the torch of a text: its build, and the line that brings what was compiled for another."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

from gpuenv.explanation.reported_machine import ReportedMachine, driver_cuda_of, machine_of, target_of
from gpuenv.explanation.wheels.commands import index_address
from gpuenv.explanation.wheels.facts import torch_builds
from gpuenv.knowledge.ecosystem import KnownWheels, WheelSet, minor_of
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.model.wheel import IndexKind, Platform
from gpuenv.resolution.candidate import release_of
from gpuenv.signatures.reported import Reported

_NOT_FROM_PYPI = ("conda_build", "jetson", "ascend", "rocm", "radeon", "gfx", "intel_gpu")
_FORCED = "pip install --force-reinstall --no-deps"
_FILES: dict[Platform, str] = {"linux-64": "linux_x86_64", "win-64": "win_amd64"}


def package_facts(reported: Reported, facts: Mapping[str, str], knowledge: Knowledge) -> dict[str, str]:
    """Return what follows from the torch of a text and the package whose compiled part does not fit it.

    `torch_build` (cu124) is what its CUDA or PyPI's build of it says, `build_cuda` 12.4, `build_cuda_name`
    12-4, as apt has it; `extension_line` installs `extension_project`, as it was compiled for this torch.
    Of a driver that the text names `driver_runs` is the CUDA that it runs at most (12.6), `driver_index` the
    newest build of the torch that it and the card run (cu126).
    `nvidia_pins` are the requirements by which NVIDIA's packages of the text become those that the torch pins
    (nvidia-nccl-cu12==2.19.3), `nvidia_wrong` those that are there (nvidia-nccl-cu12 2.18.1).
    """
    try:
        torch = Version(facts.get("torch", ""))
    except InvalidVersion:
        return {}
    machine = machine_of(reported, knowledge)
    if machine.is_mac:
        return {}
    by_driver = _of_driver(torch, machine, knowledge)
    variant = _variant(torch, facts, machine, knowledge)
    if variant is None:
        return by_driver
    found = {**by_driver, "torch_build": str(variant)}
    if variant.cuda:
        cuda = f"{variant.cuda.major}.{variant.cuda.minor}"
        found |= {"build_cuda": cuda, "build_cuda_name": cuda.replace(".", "-")}
    pins = _pins(facts, torch, variant, machine, knowledge)
    return found | pins | _extension(facts, torch, variant, machine, knowledge)


def _pins(
    facts: Mapping[str, str], torch: Version, variant: Variant, machine: ReportedMachine, knowledge: Knowledge
) -> dict[str, str]:
    platform = machine.platform or "linux-64"
    index: IndexKind = "pytorch" if torch.local else "pypi"
    requires = knowledge.dependencies.requires_of(release_of(torch), variant, platform, index) or ()
    pinned = (text.partition(";")[0].strip() for text in requires if text.startswith("nvidia-"))
    pairs = (text.partition("==") for text in pinned)
    wrong = [(name, pin) for name, _, pin in pairs if pin and facts.get(name, pin) != pin]
    if not wrong:
        return {}
    return {
        "nvidia_pins": " ".join(f"{name}=={pin}" for name, pin in wrong),
        "nvidia_wrong": ", ".join(f"{name} {facts[name]}" for name, _ in wrong),
    }


def _of_driver(torch: Version, machine: ReportedMachine, knowledge: Knowledge) -> dict[str, str]:
    platform = machine.platform or "linux-64"
    newest = driver_cuda_of(machine, platform, knowledge)
    if newest is None:
        return {}
    target = target_of(machine, knowledge)
    variants = {
        fact.variant.cuda: fact.variant
        for fact in torch_builds(platform, target, knowledge, release_of(torch))
        if fact.variant.cuda
    }
    own = [cuda for cuda in variants if cuda.major == newest.major]
    served = [cuda for cuda in own if cuda <= newest]
    if not served and _bears_its_major(machine, newest, platform, knowledge):
        served = sorted(own)[:1]
    older = [cuda for cuda in variants if cuda < newest]
    best = variants[max(served or older)] if served or older else None
    return {"driver_runs": str(newest)} | ({"driver_index": str(best)} if best else {})


def _bears_its_major(
    machine: ReportedMachine, newest: CudaVersion, platform: Platform, knowledge: Knowledge
) -> bool:
    """Whether a driver runs builds of a newer CUDA of the major that it supports."""
    floor = knowledge.family_floor(newest.major, "windows" if platform == "win-64" else "linux")
    try:
        return floor is not None and Version(machine.driver or "") >= floor.version
    except InvalidVersion:
        return False


def _variant(
    torch: Version, facts: Mapping[str, str], machine: ReportedMachine, knowledge: Knowledge
) -> Variant | None:
    if torch.local:
        return Variant(torch.local)
    cuda = facts.get("torch_cuda", "")
    if cuda[:1].isdigit():
        return Variant(f"cu{cuda.replace('.', '')}")
    if any(name in facts for name in _NOT_FROM_PYPI):
        return None
    return knowledge.pypi_variant(release_of(torch), machine.platform or "linux-64")


def _extension(
    facts: Mapping[str, str], torch: Version, variant: Variant, machine: ReportedMachine, knowledge: Knowledge
) -> dict[str, str]:
    file = facts.get("extension") or facts.get("unbuilt", "").lower().replace("-", "_") or "-"
    known = knowledge.companions_of(release_of(torch))
    made = (*knowledge.ecosystem.made_for_torch, *known)
    names = [name for name in made if file.startswith(name.replace("-", "_"))]
    project = max(names, key=len, default=None)
    if project is None:
        return {}
    wheels = knowledge.ecosystem.set_of(project)
    if wheels is not None and project not in facts:  # of one module in two packages that which is installed
        project = next(
            (name for name in wheels.projects if name in facts and name.startswith(f"{project}-")), project
        )
    platform = machine.platform or "linux-64"
    if wheels is not None:
        line = _of_set(project, wheels, torch, variant, platform, facts, knowledge)
    else:
        index = f" --index-url {index_address(str(variant))}" if torch.local else ""
        version = known[project][0] if known[project] else None
        line = f"{_FORCED} {project}=={version}{index}" if version else None
    return {"extension_project": project} | ({"extension_line": line} if line else {})


def _of_set(
    project: str,
    wheels: WheelSet,
    torch: Version,
    variant: Variant,
    platform: Platform,
    facts: Mapping[str, str],
    knowledge: Knowledge,
) -> str | None:
    tag = facts.get("python_tag")
    fitting = [
        item
        for item in knowledge.ecosystem.wheels(wheels.name, platform)
        if item.torch == minor_of(torch)
        and _is_for(item, variant)
        and (not item.pythons or tag in item.pythons)
    ]
    if not fitting:
        return None
    if wheels.by_version:
        return _file(project, fitting, torch, variant, platform, facts, knowledge, wheels.page)
    page = wheels.page.format(torch=f"{torch.major}.{torch.minor}", variant=variant)
    asked = facts.get("wheels_asked", "").split()
    beside = [name for name in wheels.projects if name != project and (name in asked or name in facts)]
    pinned = (f"{name}=={facts[name]}" if name in facts else name for name in (project, *beside))
    return f"{_FORCED} --no-cache-dir {' '.join(pinned)} -f {page}"


def _is_for(item: KnownWheels, variant: Variant) -> bool:
    """Whether wheels are for a variant: `cu12` for each of CUDA 12."""
    major = f"cu{variant.cuda.major}" if variant.cuda else None
    return item.variant in (str(variant), major)


def _file(
    project: str,
    fitting: list[KnownWheels],
    torch: Version,
    variant: Variant,
    platform: Platform,
    facts: Mapping[str, str],
    knowledge: Knowledge,
    page: str,
) -> str | None:
    """Return the line with the address of the wheel whose name tells torch, CUDA and ABI."""
    abi = knowledge.ecosystem.cxx11_abi(torch, variant)
    tag = facts.get("python_tag")
    versions = sorted({version for item in fitting for version in item.versions})
    if abi is None or tag is None or platform not in _FILES or not versions:
        return None
    installed = facts.get(project)
    version = next((item for item in versions if str(item) == installed), versions[-1])
    row = next(item for item in fitting if version in item.versions)
    local = f"{row.variant}torch{torch.major}.{torch.minor}cxx11abi{str(abi).upper()}"
    name = f"{project.replace('-', '_')}-{version}+{local}-{tag}-{tag}-{_FILES[platform]}.whl"
    folder = page.format(version=version).replace("/expanded_assets/", "/download/")
    return f"{_FORCED} {folder}/{name}"


def release_facts(facts: Mapping[str, str], knowledge: Knowledge) -> dict[str, str]:
    """Return `conflict_release`: of a project whose release wants another torch, the one for that asked."""
    try:
        torch = Version(facts["asked_torch"])
    except (KeyError, InvalidVersion):
        return {}
    project = facts.get("conflict_project", "").lower().replace("_", "-")
    paired = knowledge.companions_of(torch).get(project, ())
    demands = knowledge.ecosystem.demands(project)
    fitting = [item.version for item in demands if item.is_exact and torch in item.torch]
    release = next(iter(paired), None) or max(fitting, default=None)
    return {"conflict_release": str(release)} if release else {}
