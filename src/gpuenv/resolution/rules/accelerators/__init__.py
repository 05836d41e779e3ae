"""Rules for builds that are for no NVIDIA GPU: a module a kind of accelerator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.rules.accelerators import (
    ascend,
    gfx_code,
    intel_code,
    kernel_window,
    known_bad_builds,
    metal,
)
from gpuenv.resolution.target import Target

Rule = Callable[[Candidate, Target, Knowledge], tuple[Failure, ...]]

# whether a device can run a build at all, whatever else is on the machine
CODE_RULES: Mapping[AcceleratorKind, tuple[Rule, ...]] = {
    "rocm": (gfx_code.check, known_bad_builds.check),
    "xpu": (intel_code.check, known_bad_builds.check),
    "mps": (metal.check, known_bad_builds.check),
    "npu": (known_bad_builds.check,),
}
# what the machine's own software must be for a build
SYSTEM_RULES: Mapping[AcceleratorKind, tuple[Rule, ...]] = {
    "rocm": (kernel_window.check,),
    "npu": (ascend.check,),
}


def check(candidate: Candidate, target: Target, knowledge: Knowledge) -> tuple[Failure, ...]:
    """Return what keeps a build from running on the target's accelerators; nothing for CUDA and the CPU."""
    if candidate.accelerated is None:
        return ()
    rules = (*SYSTEM_RULES.get(target.kind, ()), *CODE_RULES.get(target.kind, ()))
    return tuple(failure for rule in rules for failure in rule(candidate, target, knowledge))
