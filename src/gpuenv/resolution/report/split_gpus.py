"""The smallest split of unlike GPUs such that each part has a build."""

from __future__ import annotations

from itertools import combinations, pairwise

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.target import TargetGpu

_MOST_PARTS = 4
_Group = tuple[TargetGpu, ...]


def find_split(question: ResolutionInput) -> tuple[Fix, ...]:
    """Return one fix a part, nothing where no split helps.

    GPUs are parted by compute capability, neighbours together: builds leave old ones and begin with new ones.
    """
    capabilities = sorted({gpu.capability for gpu in question.target.gpus})
    for count in range(2, min(len(capabilities), _MOST_PARTS) + 1):
        for cuts in combinations(range(1, len(capabilities)), count - 1):
            parts = [capabilities[low:high] for low, high in pairwise((0, *cuts, len(capabilities)))]
            groups = [tuple(gpu for gpu in question.target.gpus if gpu.capability in part) for part in parts]
            bests = [best for group in groups if (best := _best(question, group))]
            if len(bests) == len(groups):
                return tuple(map(_fix, [question] * count, groups, bests))
    return ()


def _best(question: ResolutionInput, group: _Group) -> Solution | None:
    solutions = decide(question.with_target(question.target.only(group))).choices
    return solutions[0] if solutions else None


def _fix(question: ResolutionInput, group: _Group, best: Solution) -> Fix:
    text = tr(
        "one environment for each kind of GPU: {gpus} with torch {version} for {variant}",
        gpus=", ".join(dict.fromkeys(gpu.label for gpu in group)),
        version=best.candidate.torch,
        variant=best.candidate.variant,
    )
    if len(question.target.machines) > 1:  # an index would mean a device of each of them
        return Fix(text)
    devices = tuple(str(gpu.gpu.index) for gpu in group)
    return Fix(text, question.request.with_option("--device", *devices).command())
