"""What a build runs on: generations of GPUs and drivers, by the facts of its wheel alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import TorchBuild
from gpuenv.resolution.gpu_coverage import Coverage, DriverNeed, cover, driver_need
from gpuenv.wheels.metadata import WheelFacts

Through = Literal["machine code", "ptx"]

_THROUGH: Mapping[Coverage, Through] = {"native": "machine code", "ptx": "ptx"}


@dataclass(frozen=True, slots=True)
class SupportedGeneration:
    """GPUs that a build runs on: through its machine code, or through PTX that the driver compiles."""

    architecture: str
    capabilities: tuple[ComputeCapability, ...]
    through: Through
    names: tuple[str, ...]


def generations_for(facts: WheelFacts, knowledge: Knowledge) -> tuple[SupportedGeneration, ...]:
    """Return the generations of GPUs that a wheel runs on, oldest first."""
    if facts.variant is None or facts.variant.cuda is None:
        return ()
    build = _build(facts, facts.variant)
    fields: dict[tuple[str, Through], list[ComputeCapability]] = {}
    for capability, support in sorted(knowledge.generations.items()):
        through = _THROUGH.get(cover(build, capability, knowledge))
        if through:
            fields.setdefault((support.name, through), []).append(capability)
    return tuple(
        SupportedGeneration(
            name,
            tuple(capabilities),
            through,
            tuple(gpu for capability in capabilities for gpu in knowledge.names_of(capability)),
        )
        for (name, through), capabilities in fields.items()
    )


def drivers_for(facts: WheelFacts, knowledge: Knowledge) -> tuple[DriverNeed, ...]:
    """Return the drivers that a wheel needs: a Linux wheel runs under WSL2 too, where Windows' count."""
    cuda = facts.variant.cuda if facts.variant else None
    if cuda is None:
        return ()
    systems: tuple[DriverOs, ...] = ("windows",) if facts.platform == "win-64" else ("linux", "windows")
    needs = (driver_need(cuda, system, knowledge) for system in systems)
    return tuple(need for need in needs if need)


def _build(facts: WheelFacts, variant: Variant) -> TorchBuild:
    """Return the wheel as a row of torch.json would have it; an unknown platform is the most common one."""
    return TorchBuild(
        torch=facts.version,
        variant=variant,
        cuda=variant.cuda,
        platform=facts.platform or "linux-64",
        index="pytorch",
        pythons=facts.pythons,
        architectures=facts.architectures,
        cudnn=facts.cudnn,
        tags=facts.tags,
        source=facts.filename,
        evidence="wheel",
    )
