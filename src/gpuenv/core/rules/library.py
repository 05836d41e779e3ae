"""Rule `library`: the libraries that a build brings still, and already, support the GPU.

cuDNN leaves old GPUs behind at some release; the libraries of a CUDA toolkit hold nothing for a generation
of GPUs that came after it.
"""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from gpuenv.core.case import Case, Failure
from gpuenv.core.knowledge import Knowledge, LibraryFloor
from gpuenv.core.target import Target, TargetGpu
from gpuenv.values.text import tr
from gpuenv.values.variant import CudaVersion


def check(case: Case, target: Target, knowledge: Knowledge) -> tuple[Failure, ...]:
    """Return a failure for each kind of GPU that a bundled library does not support."""
    if case.cuda is None or case.row is None:
        return ()
    failures: list[Failure] = []
    for gpu in {gpu.capability: gpu for gpu in reversed(target.gpus)}.values():
        failures += _too_old(case, gpu, knowledge) + _too_new(case.cuda, gpu, knowledge)
    return tuple(failures)


def _too_old(case: Case, gpu: TargetGpu, knowledge: Knowledge) -> list[Failure]:
    if case.row is None or not case.row.cudnn:
        return []
    version = _parse(case.row.cudnn)
    floor = _floor(version, knowledge) if version else None
    if floor is None or gpu.capability >= floor.min_capability:
        return []
    facts = (("version", str(version)), ("least", str(floor.min_capability)), ("gpu", gpu.label))
    return [
        Failure(
            "library",
            ("library", "cudnn", str(gpu.capability)),
            tr("its cuDNN {version} supports compute capability {least} and later, not {gpu}", **dict(facts)),
            f"{floor.source}; {gpu.source}",
            facts,
        )
    ]


def _parse(cudnn: str) -> Version | None:
    try:
        return Version(cudnn)
    except InvalidVersion:  # a fact that can't be compared rules nothing out
        return None


def _floor(version: Version, knowledge: Knowledge) -> LibraryFloor | None:
    reached = [floor for floor in knowledge.libraries if floor.library == "cudnn" and floor.since <= version]
    return max(reached, key=lambda floor: floor.since, default=None)


def _too_new(cuda: CudaVersion, gpu: TargetGpu, knowledge: Knowledge) -> list[Failure]:
    first = knowledge.first_cuda_of_generation(gpu.capability)
    if first is None or cuda >= first.cuda:
        return []
    facts = (("cuda", str(cuda)), ("first", str(first.cuda)), ("gpu", gpu.label))
    return [
        Failure(
            "library",
            ("library", "cuda", str(gpu.capability)),
            tr(
                "the libraries of CUDA {cuda} came before {gpu}, which CUDA {first} was the first to serve",
                **dict(facts),
            ),
            f"{first.source}; {gpu.source}",
            facts,
        )
    ]


def sentence(failures: tuple[Failure, ...]) -> str:
    """Say which bundled library does not support which GPU."""
    if len({failure.detail for failure in failures}) == 1:
        return failures[0].detail
    first = failures[0]
    if first.key[1] == "cuda":
        return tr(
            "builds for CUDA before {first} have nothing for {gpu}",
            first=first.fact("first"),
            gpu=first.fact("gpu"),
        )
    return tr(
        "the cuDNN in the newer builds supports compute capability {least} and later, not {gpu}",
        least=first.fact("least"),
        gpu=first.fact("gpu"),
    )
