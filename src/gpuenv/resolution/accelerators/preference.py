"""Which of several builds for an accelerator is preferred."""

from __future__ import annotations

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.accelerators.collect import PLANNED_INDEXES
from gpuenv.resolution.accelerators.kernel_driver import is_stated
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.target import Target


def prefer(solutions: tuple[Solution, ...], target: Target, knowledge: Knowledge) -> tuple[Solution, ...]:
    """Sort what is in the general order of preference: the index first, then what is known, then the rest.

    Of one torch a ROCm that the kernel driver is stated for goes first, then the newest. A release that
    nobody saw listed comes behind those that somebody did, and a torch_npu of unknown CANN behind the others.
    """
    ordered = sorted(solutions, key=lambda item: item.candidate.variant.release, reverse=True)
    ordered.sort(key=_plugin, reverse=True)
    ordered.sort(key=lambda item: not is_stated(item.candidate, target, knowledge))
    ordered.sort(key=lambda item: len(item.left_out))
    ordered.sort(key=lambda item: item.candidate.torch, reverse=True)
    ordered.sort(key=lambda item: target.kind != "npu" and item.torch.file.assumed)
    ordered.sort(key=_knows_no_cann)
    ordered.sort(key=_index)
    return tuple(ordered)


def _plugin(solution: Solution) -> tuple[bool, tuple[int, ...], int]:
    """By the plugin's release: a final one before a candidate for it."""
    build = solution.candidate.accelerated
    if build is None or build.torch_npu is None:
        return (True, (), 0)
    return (not build.torch_npu.is_prerelease, build.torch_npu.release, build.torch_npu.post or 0)


def _knows_no_cann(solution: Solution) -> bool:
    build = solution.candidate.accelerated
    return build is not None and build.torch_npu is not None and build.cann is None


def _index(solution: Solution) -> int:
    build = solution.candidate.accelerated
    return PLANNED_INDEXES.index(build.index) if build and build.index in PLANNED_INDEXES else 0
