"""Rule `kernels`: the wheel holds code that each GPU can run.

Machine code runs on its own capability and on later ones of the same major version; PTX runs on anything
later once the driver has compiled it, which it can't under minor-version compatibility.
https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal

from gpuenv.i18n.messages import current_language, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import Architecture, ComputeCapability
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.rules.driver import is_native
from gpuenv.resolution.rules.phrases import list_builds
from gpuenv.resolution.target import Target, TargetGpu, driver_os

Code = Literal["machine code", "ptx", "ptx-needs-driver"]


def code_for(candidate: Candidate, gpu: TargetGpu, knowledge: Knowledge) -> Code | None:
    """Return what `gpu` would run of the build, None where nothing in it fits."""
    if candidate.row is None or candidate.cuda is None:
        return None
    return code_in(candidate.row.architectures, candidate.cuda, gpu, knowledge)


def code_in(
    architectures: tuple[Architecture, ...], cuda: CudaVersion, gpu: TargetGpu, knowledge: Knowledge
) -> Code | None:
    """Return what `gpu` would run of code compiled with `cuda`, None where nothing in it fits."""
    code = _code_of(architectures)(gpu.capability, cuda, knowledge)
    return "ptx-needs-driver" if code == "ptx" and not is_native(cuda, gpu.machine, knowledge) else code


def _by_capability(
    architectures: tuple[Architecture, ...],
) -> Callable[[ComputeCapability, CudaVersion, Knowledge], Code | None]:
    def code(capability: ComputeCapability, cuda: CudaVersion, knowledge: Knowledge) -> Code | None:
        if any(runs_machine_code(item, capability, cuda, knowledge) for item in architectures):
            return "machine code"
        return "ptx" if any(runs_ptx(item, capability) for item in architectures) else None

    return cache(code)


_code_of: ByIdentity[
    tuple[Architecture, ...], Callable[[ComputeCapability, CudaVersion, Knowledge], Code | None]
]
_code_of = ByIdentity(_by_capability, most=2048)  # builds of torch and of what is built against it


def runs_machine_code(
    architecture: Architecture, capability: ComputeCapability, cuda: CudaVersion, knowledge: Knowledge
) -> bool:
    """Whether machine code for `architecture` runs on `capability`.

    Code for an integrated device (Tegra) runs on that device alone, and that device runs no other code
    before the CUDA version that the matrix names.
    """
    if architecture.kind != "sm" or not architecture.runs_on(capability):
        return False
    if architecture.capability == capability:
        return True
    return not (
        knowledge.is_integrated(architecture.capability, None) or knowledge.is_integrated(capability, cuda)
    )


def runs_ptx(architecture: Architecture, capability: ComputeCapability) -> bool:
    """Whether the driver can compile PTX for `architecture` on `capability`."""
    return architecture.kind == "compute" and architecture.runs_on(capability)


class CodeFailure(Failure, frozen=True, kw_only=True):
    """A build without code for a GPU, with PTX that the driver cannot compile, or of "unknown" code."""

    rule: str = "kernels"
    build: str
    gpu: str = ""

    def _summarize_several(self, alike: tuple[CodeFailure, ...]) -> str:
        builds = list_builds(failure.build for failure in alike)
        if self.kind == "unknown":
            return tr("what {builds} are compiled for is not in the matrix", builds=builds)
        if self.kind == "ptx":
            return tr(
                "{builds} support {gpu} only through PTX, which this driver cannot compile",
                builds=builds,
                gpu=self.gpu,
            )
        return tr("{builds} have no code for {gpu}", builds=builds, gpu=self.gpu)


def check(candidate: Candidate, target: Target, knowledge: Knowledge) -> tuple[CodeFailure, ...]:
    """Return a failure for each kind of GPU that finds no code in the wheel."""
    if candidate.variant.is_cpu or not target.gpus:
        return ()
    build = candidate.label
    if candidate.row is None or not candidate.row.architectures:
        detail = tr("what {build} is compiled for is not in the matrix", build=build)
        return (CodeFailure(kind="unknown", detail=detail, source="matrix torch.json", build=build),)
    failures = (_check_gpu(candidate, gpu, knowledge) for gpu in reversed(_telling(target)))
    distinct = {failure.key: failure for failure in failures if failure}  # the first GPU of a kind speaks
    return tuple(reversed(distinct.values()))


def _first_and_last(target: Target) -> tuple[TargetGpu, ...]:
    """Leave out GPUs between the first and the last that this rule cannot tell apart."""
    alike: dict[object, list[int]] = {}
    for position, gpu in enumerate(target.gpus):
        alike.setdefault((gpu.capability, driver_os(gpu.machine), gpu.machine.driver), []).append(position)
    if len(alike) == 1:
        return target.gpus[:1]
    kept = sorted({position for positions in alike.values() for position in (positions[0], positions[-1])})
    return tuple(target.gpus[position] for position in kept)


_telling: ByIdentity[Target, tuple[TargetGpu, ...]] = ByIdentity(_first_and_last)


def _check_gpu(candidate: Candidate, gpu: TargetGpu, knowledge: Knowledge) -> CodeFailure | None:
    code = code_for(candidate, gpu, knowledge)
    if code in ("machine code", "ptx"):
        return None
    return _failures_of(candidate)(
        code is not None, gpu.label, gpu.capability, gpu.source, current_language()
    )


def _by_gpu(candidate: Candidate) -> Callable[[bool, str, ComputeCapability, str, str], CodeFailure]:
    def failure(
        has_ptx: bool, gpu: str, capability: ComputeCapability, source: str, _language: str
    ) -> CodeFailure:
        listed = " ".join(map(str, candidate.row.architectures)) if candidate.row else ""
        facts = {"build": candidate.label, "gpu": gpu}
        detail = (
            tr(
                "{build} supports {gpu} only through PTX, which needs a driver that supports CUDA {cuda}",
                cuda=candidate.cuda,
                **facts,
            )
            if has_ptx
            else tr("{build} has code for {list}, none of which runs on {gpu}", list=listed, **facts)
        )
        return CodeFailure(
            kind="ptx" if has_ptx else "code",
            subject=str(capability),
            detail=detail,
            source=f"{candidate.source}; {source}",
            **facts,
        )

    return cache(failure)


_failures_of: ByIdentity[Candidate, Callable[[bool, str, ComputeCapability, str, str], CodeFailure]]
_failures_of = ByIdentity(_by_gpu, most=2048)
