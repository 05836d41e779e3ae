"""What a build runs on: generations of GPUs and drivers, by the facts of its wheel alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuenv.core.knowledge import DriverOs, Knowledge
from gpuenv.core.rules.driver import least_driver
from gpuenv.core.rules.kernels import runs_machine_code, runs_ptx
from gpuenv.core.rules.library import Libraries, left_behind
from gpuenv.core.wheel_facts import WheelFacts
from gpuenv.values.capability import ComputeCapability
from gpuenv.values.variant import CudaVersion

Through = Literal["machine code", "ptx"]


@dataclass(frozen=True, slots=True)
class Generation:
    """GPUs that a build runs on: through its machine code, or through PTX that the driver compiles."""

    architecture: str
    capabilities: tuple[ComputeCapability, ...]
    through: Through
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DriverNeed:
    """The drivers for a build on one system.

    `least` is enough for its machine code, `native` (None: unknown) for PTX and for all of its CUDA.
    """

    os: DriverOs
    least: str
    native: str | None
    source: str


def generations_for(facts: WheelFacts, knowledge: Knowledge) -> tuple[Generation, ...]:
    """Return the generations of GPUs that a wheel runs on, oldest first."""
    cuda = facts.variant.cuda if facts.variant else None
    if cuda is None:
        return ()
    found: dict[tuple[str, Through], list[ComputeCapability]] = {}
    for capability, support in sorted(knowledge.generations.items()):
        through = _through(facts, capability, cuda, knowledge)
        if through and _libraries_fit(facts, capability, cuda, knowledge):
            found.setdefault((support.name, through), []).append(capability)
    return tuple(
        Generation(
            name,
            tuple(capabilities),
            through,
            tuple(gpu for capability in capabilities for gpu in knowledge.names_of(capability)),
        )
        for (name, through), capabilities in found.items()
    )


def drivers_for(facts: WheelFacts, knowledge: Knowledge) -> tuple[DriverNeed, ...]:
    """Return the drivers that a wheel needs: a Linux wheel runs under WSL2 too, where Windows' count."""
    cuda = facts.variant.cuda if facts.variant else None
    if cuda is None:
        return ()
    systems: tuple[DriverOs, ...] = ("windows",) if facts.platform == "win-64" else ("linux", "windows")
    needs: list[DriverNeed] = []
    for system in systems:
        least = least_driver(cuda, system, knowledge)
        native = knowledge.release_floor(cuda, system)
        if least:
            told = str(native.version) if native else None
            needs.append(DriverNeed(system, str(least.version), told, least.source))
    return tuple(needs)


def _through(
    facts: WheelFacts, capability: ComputeCapability, cuda: CudaVersion, knowledge: Knowledge
) -> Through | None:
    if any(runs_machine_code(item, capability, cuda, knowledge) for item in facts.architectures):
        return "machine code"
    return "ptx" if any(runs_ptx(item, capability) for item in facts.architectures) else None


def _libraries_fit(
    facts: WheelFacts, capability: ComputeCapability, cuda: CudaVersion, knowledge: Knowledge
) -> bool:
    """Whether its CUDA had come when the generation did, and none of its libraries has left it behind."""
    first = knowledge.first_cuda_of_generation(capability)
    if first and cuda < first.cuda:
        return False
    if facts.platform is None:
        return True
    brought = Libraries(cuda, facts.cudnn, facts.platform, facts.version)
    return not left_behind(brought, capability, 1, knowledge)
