"""What every build does on every GPU: the rules of the decision, asked one compute capability at a time."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from packaging.tags import Tag
from packaging.utils import canonicalize_name

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import ArchitectureSupport, DriverOs
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.machine import Driver, DriverVersion, Gpu, Machine, System
from gpuenv.model.variant import CudaVersion
from gpuenv.model.wheel import Platform, TorchBuild, WheelFile
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.rules import bundled_libraries, driver, gpu_code, platform_tags
from gpuenv.resolution.target import Target, TargetGpu

Coverage = Literal["native", "ptx", "no-code", "library-left", "library-before", "no-driver", "unknown"]

_SYSTEMS: dict[Platform, tuple[DriverOs, str]] = {
    "linux-64": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "win-64": ("windows", "x86_64"),
}


_BY_LIBRARY: dict[str, Coverage] = {"cuda": "library-before", bundled_libraries.UNKNOWN_GENERATION: "unknown"}


class GpuGeneration(Struct, frozen=True):
    """A GPU generation: its compute capabilities, those of integrated devices (Tegra) apart."""

    name: str
    capabilities: tuple[ComputeCapability, ...]
    integrated: tuple[ComputeCapability, ...]
    first_cuda: CudaVersion
    last_cuda: CudaVersion | None
    last_driver_branch: int | None


class DriverNeed(Struct, frozen=True):
    """The drivers of one system (`os`) for a CUDA version.

    `least` runs its machine code; `native` is the release's own floor (None: unknown); from `branch` on
    drivers support that CUDA themselves, and so compile PTX (None: no branch is known to).
    """

    os: DriverOs
    least: DriverVersion
    native: DriverVersion | None
    branch: int | None
    source: str


def cover(build: TorchBuild, capability: ComputeCapability, knowledge: Knowledge) -> Coverage:
    """Tell how a GPU runs a build under the newest driver there is for it, or why it doesn't."""
    candidate = candidate_of(build)
    target = _target(build.platform, capability, knowledge)
    code = gpu_code.code_for(candidate, target.gpus[0], knowledge)
    if code is None:
        return "no-code" if build.architectures else "unknown"
    for library_failure in bundled_libraries.check(candidate, target, knowledge):
        return _BY_LIBRARY.get(library_failure.kind, "library-left")
    for driver_failure in driver.check(candidate, target, knowledge):
        return "unknown" if driver_failure.kind == "unknown" else "no-driver"
    match code:
        case "machine code":
            return "native"
        case "ptx":
            return "ptx"
        case "ptx-needs-driver":
            return "no-driver"


def driver_system(platform: Platform) -> DriverOs:
    """Return the system whose drivers count for a platform; under WSL2 they are Windows'."""
    return _SYSTEMS[platform][0]


def _target(name: Platform, capability: ComputeCapability, knowledge: Knowledge) -> Target:
    os, arch = _SYSTEMS[name]
    machine = Machine(System(os, arch), _last_driver(capability, os, knowledge))
    return Target((machine,), (TargetGpu(Gpu(0, None, capability), capability, machine),), name)


def _last_driver(capability: ComputeCapability, os: DriverOs, knowledge: Knowledge) -> Driver | None:
    """The newest driver for a generation that gets no more of them; None: as new as need be."""
    support = knowledge.architecture_of(capability)
    if support is None or support.last_driver_branch is None:
        return None
    version = DriverVersion(f"{support.last_driver_branch}.999")  # the end of the branch
    return Driver(version, knowledge.driver_cuda(version, os))


def find_generations(knowledge: Knowledge) -> tuple[GpuGeneration, ...]:
    """Return the GPU generations, oldest first; rows of one name are one generation."""
    rows: dict[str, list[tuple[ComputeCapability, ArchitectureSupport]]] = {}
    for capability, support in sorted(knowledge.generations.items(), key=lambda item: item[0]):
        rows.setdefault(support.name, []).append((capability, support))
    generations = [_generation(name, members, knowledge) for name, members in rows.items()]
    return tuple(
        sorted(
            generations,
            key=lambda generation: (generation.first_cuda, generation.capabilities, generation.integrated),
        )
    )


def _generation(
    name: str, members: list[tuple[ComputeCapability, ArchitectureSupport]], knowledge: Knowledge
) -> GpuGeneration:
    supports = [support for _, support in members]
    last_cuda = [support.last_cuda for support in supports]
    branches = [support.last_driver_branch for support in supports]
    integrated = {capability: knowledge.is_integrated(capability, None) for capability, _ in members}
    return GpuGeneration(
        name,
        tuple(capability for capability, apart in integrated.items() if not apart),
        tuple(capability for capability, apart in integrated.items() if apart),
        min(support.first_cuda for support in supports),
        None if None in last_cuda else max(version for version in last_cuda if version),
        None if None in branches else max(branch for branch in branches if branch),
    )


def driver_need(cuda: CudaVersion, os: DriverOs, knowledge: Knowledge) -> DriverNeed | None:
    """Return the drivers for a CUDA version or None where no floor is known."""
    least = driver.least_driver(cuda, os, knowledge)
    if least is None:
        return None
    native = knowledge.release_floor(cuda, os)
    branches = (branch for branch, _ in knowledge.branches.get(os, ()))
    first = next((branch for branch in branches if _compiles(branch, cuda, os, knowledge)), None)
    return DriverNeed(os, least.version, native.version if native else None, first, least.source)


def _compiles(branch: int, cuda: CudaVersion, os: DriverOs, knowledge: Knowledge) -> bool:
    machine = Machine(System(os, ""), Driver(DriverVersion(str(branch))))
    return driver.is_native(cuda, machine, knowledge)


def runs_on(build: TorchBuild, target: Target, knowledge: Knowledge) -> bool:
    """Whether a CUDA build runs on all GPUs of `target`, as far as the matrices alone tell."""
    if build.cuda is None or build.platform != target.platform or not target.gpus:
        return False
    return not failures_on(build, target, knowledge)


def failures_on(build: TorchBuild, target: Target, knowledge: Knowledge) -> tuple[Failure, ...]:
    """Return what keeps a build for the target's platform from running there."""
    candidate = candidate_of(build)
    return (
        driver.check(candidate, target, knowledge)
        + gpu_code.check(candidate, target, knowledge)
        + bundled_libraries.check(candidate, target, knowledge)
        + platform_tags.check(candidate, target)
    )


def candidate_of(build: TorchBuild) -> Candidate:
    """Return the build as the rules judge it, with one file of which nothing counts but its platform tags."""
    tags = frozenset(Tag("py3", "none", tag) for tag in build.tags)
    file = WheelFile(canonicalize_name("torch"), build.torch, tags, "", "", build.variant)
    indexed = IndexedFile(file, _NOT_LISTED, 0, build.torch)
    return Candidate(build.torch, build.variant, build.index, build, (indexed,))


_NOT_LISTED = Listing(IndexSource("snapshot", "", "matrix torch.json"), canonicalize_name("torch"), (), "")
