"""Which devices go with which build, where no single one runs on all of them."""

from __future__ import annotations

from itertools import combinations, pairwise

from msgspec.structs import replace

from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import Fix
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.target_device import TargetDevice

_MOST_PARTS = 4
_Group = tuple[TargetDevice, ...]


def find_device_split(question: ResolutionInput) -> tuple[Fix, ...]:
    """Return one fix a part of the fewest parts that have a build each, nothing where no split helps."""
    devices = question.target.devices
    architectures = sorted({_architecture(device) for device in devices}, key=lambda name: (len(name), name))
    for count in range(2, min(len(architectures), _MOST_PARTS) + 1):
        for cuts in combinations(range(1, len(architectures)), count - 1):
            parts = [architectures[low:high] for low, high in pairwise((0, *cuts, len(architectures)))]
            groups = [tuple(item for item in devices if _architecture(item) in part) for part in parts]
            bests = [best for group in groups if (best := _best(question, group))]
            if len(bests) == len(groups):
                return tuple(map(_fix, [question] * count, groups, bests))
    return ()


def _architecture(device: TargetDevice) -> str:
    return device.accelerator.architecture or ""


def _best(question: ResolutionInput, group: _Group) -> Solution | None:
    target = replace(question.target, devices=group)
    return next(iter(decide(question.with_target(target)).choices), None)


def _fix(question: ResolutionInput, group: _Group, best: Solution) -> Fix:
    text = tr(
        "one environment for each kind of GPU: {gpus} with torch {version} for {variant}",
        gpus=series(dict.fromkeys(device.label for device in group)),
        version=best.candidate.torch,
        variant=best.candidate.variant,
    )
    if len(question.target.machines) > 1:  # an index would mean a device of each of them
        return Fix(text)
    devices = tuple(str(device.accelerator.index) for device in group)
    return Fix(text, question.request.with_option("--device", *devices).command())
