"""Extras by which a build brings its code for a device: AMD's index has one for each gfx.

Without one nothing is installed that a GPU could run, and torchvision needs its own.
https://github.com/ROCm/TheRock/issues/8115
"""

from __future__ import annotations

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.target import Target

_PROJECTS = ("torch", "torchvision")
_ALL = "device-all"


def device_extras(
    candidate: Candidate, project: str, target: Target, knowledge: Knowledge
) -> tuple[str, ...]:
    """Return the extras of a project that the target's devices need, those of all where there is none."""
    build = candidate.accelerated
    if build is None or not build.extra or project not in _PROJECTS:
        return ()
    known = (
        knowledge.accelerators.architecture(target.kind, device.accelerator.architecture)
        for device in target.devices
    )
    return tuple(sorted({row.extra for row in known if row and row.extra})) or (_ALL,)
