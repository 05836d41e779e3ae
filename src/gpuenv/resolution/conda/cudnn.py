"""The cuDNN that a solver adds to conda-forge's torch: which releases still serve the GPUs.

A wheel brings its cuDNN; a build of conda-forge's takes any from the one it was built with on, within its
major release. So the newest would come, which has left old GPUs behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import LibraryFloor, Row
from gpuenv.model.conda import CondaRecord
from gpuenv.model.errors import Because
from gpuenv.model.plan import PlanWarning
from gpuenv.model.wheel import TorchBuild
from gpuenv.resolution.conda.records import variant_of
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.target import TargetGpu

_CHANNEL = "conda-forge"  # elsewhere it is part of torch's package
_LIBRARY = "cudnn"
_TORCH = "pytorch"
# `cudnn >=9.10.1.4,<10.0a0`, `libcudnn >=9.13.0.50,<10.0a0`
_NEEDED = re.compile(r"(?:lib)?cudnn >=(?P<version>\d+(?:\.\d+)*)")


def with_needed_cudnn(knowledge: Knowledge, records: Iterable[CondaRecord]) -> Knowledge:
    """Return what is known of a channel's builds with the least cuDNN that their packages take."""
    needed: dict[tuple[str, str], Version | None] = {}
    for record in (conda_record for conda_record in records if conda_record.name == _TORCH):
        key, least = (record.version, str(variant_of(record.build))), needed_cudnn(record)
        known = needed.get(key, least)
        needed[key] = min(known, least) if known and least else None
    return replace(knowledge, torch_rows=tuple(_with(row, needed) for row in knowledge.torch_rows))


def _with(row: Row, needed: dict[tuple[str, str], Version | None]) -> Row:
    least = needed.get((row["torch"], row["variant"]))
    return {**row, "cudnn": str(least)} if least else row


def needed_cudnn(record: CondaRecord) -> Version | None:
    """Return the oldest cuDNN that a package takes, None where it needs none."""
    matches = (_NEEDED.match(text) for text in record.depends)
    return next((Version(match["version"]) for match in matches if match), None)


def cudnn_limit(question: ResolutionInput, solution: Solution) -> tuple[str, Because] | None:
    """Return the spec that keeps a solver at a cuDNN that serves every GPU, and why; None where any does."""
    row = solution.candidate.row
    if row is None or row.cudnn is None or solution.torch.listing.source.name != _CHANNEL:
        return None
    coming = [floor for floor in question.knowledge.libraries if _comes_after(floor, row)]
    left = [(floor, gpu) for floor in coming for gpu in question.target.gpus if _leaves(floor, gpu)]
    if not left:
        return None
    floor, gpu = min(left, key=lambda item: item[0].since)
    spec = f"{_LIBRARY} <{floor.since}"
    text = tr(
        "`{spec}`: {name} {version} supports compute capability {least} and later, not {gpu}",
        spec=spec, name=floor.name, version=floor.since, least=floor.min_capability, gpu=gpu.label,
    )  # fmt: skip
    return spec, Because(text, floor.source)


def assumed_limit(solution: Solution, spec: str) -> PlanWarning | None:
    """Return a warning where only the major cuDNN that a build needs is known; None where more is."""
    row = solution.candidate.row
    if row is None or row.cudnn is None or "." in row.cudnn:
        return None
    facts = {"build": solution.candidate.label, "spec": spec}
    text = tr("it is assumed that {build} takes `{spec}`: no channel that says so was read", **facts)
    return PlanWarning("cudnn-assumed", text)


def _comes_after(floor: LibraryFloor, row: TorchBuild) -> bool:
    """Whether a floor is one of cuDNN's that a newer release than the build needs brings."""
    fits = row.platform in floor.platforms and (floor.cuda is None or floor.cuda.contains(str(row.cuda)))
    return floor.library == _LIBRARY and fits and row.cudnn is not None and floor.since > Version(row.cudnn)


def _leaves(floor: LibraryFloor, gpu: TargetGpu) -> bool:
    return gpu.capability < floor.min_capability
