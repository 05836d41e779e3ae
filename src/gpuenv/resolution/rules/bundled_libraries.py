"""Rule `library`: the libraries that a build brings still, and already, support the GPU.

cuDNN leaves old GPUs behind at some release, cuBLAS and NCCL with the CUDA that they are made for; the
libraries of a CUDA toolkit hold nothing for a generation of GPUs that came after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from gpuenv.i18n.messages import N_, current_language, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import LibraryFloor
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.variant import CudaVersion
from gpuenv.model.wheel import Platform
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.target import Target

UNKNOWN_GENERATION = "generation"


class Libraries(Struct, frozen=True):
    """What is known of the libraries that a build brings; `torch` finds what `cudnn` leaves open."""

    cuda: CudaVersion
    cudnn: str | None
    platform: Platform
    torch: Version


class LeftBehind(Struct, frozen=True):
    """A library that no longer supports a GPU: its release (its own or its CUDA's), and the row behind it."""

    version: str
    floor: LibraryFloor


class LibraryFailure(Failure, frozen=True, kw_only=True):
    """A bundled library without support for a GPU; `kind` names it ("cuda": those of an older CUDA)."""

    rule: str = "library"
    gpu: str
    floor: LibraryFloor | None = None
    first_cuda: CudaVersion | None = None

    def _summarize_several(self, alike: tuple[LibraryFailure, ...]) -> str:
        if self.floor is None:
            return tr(
                "builds for CUDA before {first} have nothing for {gpu}", first=self.first_cuda, gpu=self.gpu
            )
        return tr(
            "the {name} in the newer builds supports compute capability {least} and later, not {gpu}",
            name=self.floor.name,
            least=min(failure.floor.min_capability for failure in alike if failure.floor),
            gpu=self.gpu,
        )


def check(candidate: Candidate, target: Target, knowledge: Knowledge) -> tuple[LibraryFailure, ...]:
    """Return a failure for each kind of GPU that a bundled library does not support."""
    if candidate.cuda is None or candidate.row is None:
        return ()
    brought = Libraries(candidate.cuda, candidate.row.cudnn, candidate.row.platform, candidate.torch)
    language, failures = current_language(), []
    for gpu in _kinds(target):
        old = left_behind(brought, gpu.capability, gpu.gpus, knowledge)
        failures += [_too_old(library, gpu, language) for library in old]
        failures += _too_new(candidate.cuda, gpu, knowledge, language)
    return tuple(failures)


class _Kind(NamedTuple):
    """GPUs of one capability: the first of them in words, and the most that one machine uses."""

    capability: ComputeCapability
    label: str
    source: str
    gpus: int


def _kinds_of(target: Target) -> tuple[_Kind, ...]:
    counts = Counter(id(gpu.machine) for gpu in target.gpus)
    most: Counter[ComputeCapability] = Counter()
    for gpu in target.gpus:
        most[gpu.capability] = max(most[gpu.capability], counts[id(gpu.machine)])
    firsts = {gpu.capability: gpu for gpu in reversed(target.gpus)}
    return tuple(
        _Kind(gpu.capability, gpu.label, gpu.source, most[gpu.capability]) for gpu in firsts.values()
    )


_kinds: ByIdentity[Target, tuple[_Kind, ...]] = ByIdentity(_kinds_of)


@cache
def left_behind(
    brought: Libraries, capability: ComputeCapability, gpus: int, knowledge: Knowledge
) -> tuple[LeftBehind, ...]:
    """Return the libraries that no longer support a GPU, on a machine that uses so many `gpus`."""
    strictest: dict[str, LeftBehind] = {}
    for floor in _reached(brought, gpus, knowledge):
        known = strictest.get(floor.floor.library)
        if known is None or known.floor.min_capability < floor.floor.min_capability:
            strictest[floor.floor.library] = floor
    return tuple(library for library in strictest.values() if capability < library.floor.min_capability)


def _reached(brought: Libraries, gpus: int, knowledge: Knowledge) -> Iterator[LeftBehind]:
    cuda = Version(str(brought.cuda))
    for floor in knowledge.libraries:
        version = cuda if floor.counts == "cuda" else _own_release(floor.library, brought, knowledge)
        applies = gpus >= floor.least_gpus and brought.platform in floor.platforms
        if applies and version is not None and floor.since <= version and _is_for(floor, cuda):
            yield LeftBehind(str(version), floor)


def _is_for(floor: LibraryFloor, cuda: Version) -> bool:
    return floor.cuda is None or floor.cuda.contains(cuda)


def _own_release(library: str, brought: Libraries, knowledge: Knowledge) -> Version | None:
    stated = brought.cudnn if library == "cudnn" else None
    text = stated or knowledge.bundled_library(library, brought.torch, brought.cuda)
    try:
        return Version(text) if text else None
    except InvalidVersion:  # a fact that can't be compared rules nothing out
        return None


@cache
def _too_old(library: LeftBehind, gpu: _Kind, _language: str) -> LibraryFailure:
    floor = library.floor
    template = (
        N_("its {name} for CUDA {version} supports compute capability {least} and later, not {gpu}")
        if floor.counts == "cuda"
        else N_("its {name} {version} supports compute capability {least} and later, not {gpu}")
    )
    facts = {"name": floor.name, "version": library.version, "least": floor.min_capability}
    return LibraryFailure(
        kind=floor.library,
        subject=str(gpu.capability),
        detail=tr(template, gpu=gpu.label, **facts),
        source=f"{floor.source}; {gpu.source}",
        gpu=gpu.label,
        floor=floor,
    )


@cache
def _too_new(
    cuda: CudaVersion, gpu: _Kind, knowledge: Knowledge, _language: str
) -> tuple[LibraryFailure, ...]:
    first = knowledge.first_generation(gpu.capability)
    if first is None:
        return (_not_known(gpu),)
    if cuda >= first.first_cuda:
        return ()
    text = N_("the libraries of CUDA {cuda} predate {gpu}, which is supported since CUDA {first}")
    return (
        LibraryFailure(
            kind="cuda",
            subject=str(gpu.capability),
            detail=tr(text, cuda=cuda, first=first.first_cuda, gpu=gpu.label),
            source=f"{first.source}; {gpu.source}",
            gpu=gpu.label,
            first_cuda=first.first_cuda,
        ),
    )


def _not_known(gpu: _Kind) -> LibraryFailure:
    """Which CUDA was the first to serve the GPU is not known: its libraries may have nothing for it."""
    return LibraryFailure(
        kind=UNKNOWN_GENERATION,
        subject=str(gpu.capability),
        detail=tr("no CUDA release is known to support {gpu}: it is newer than the matrices", gpu=gpu.label),
        source=f"matrix cuda.json; {gpu.source}",
        gpu=gpu.label,
    )
