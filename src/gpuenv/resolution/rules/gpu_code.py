"""Rule `kernels`: the wheel holds code that each GPU can run.

Machine code runs on its own capability and on later ones of the same major version; PTX runs on anything
later once the driver has compiled it, which it can't under minor-version compatibility.
https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import Architecture, ComputeCapability
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.rules.driver import is_native
from gpuenv.resolution.rules.phrases import list_builds
from gpuenv.resolution.target import Target, TargetGpu

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
    if any(runs_machine_code(item, gpu.capability, cuda, knowledge) for item in architectures):
        return "machine code"
    if any(runs_ptx(item, gpu.capability) for item in architectures):
        return "ptx" if is_native(cuda, gpu.machine, knowledge) else "ptx-needs-driver"
    return None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFailure(Failure):
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
    failures = (_check_gpu(candidate, gpu, knowledge) for gpu in reversed(target.gpus))
    distinct = {failure.key: failure for failure in failures if failure}  # the first GPU of a kind speaks
    return tuple(reversed(distinct.values()))


def _check_gpu(candidate: Candidate, gpu: TargetGpu, knowledge: Knowledge) -> CodeFailure | None:
    code = code_for(candidate, gpu, knowledge)
    if code in ("machine code", "ptx"):
        return None
    listed = " ".join(map(str, candidate.row.architectures)) if candidate.row else ""
    facts = {"build": candidate.label, "gpu": gpu.label}
    detail = (
        tr(
            "{build} supports {gpu} only through PTX, which needs a driver that supports CUDA {cuda}",
            cuda=candidate.cuda,
            **facts,
        )
        if code
        else tr("{build} has code for {list}, none of which runs on {gpu}", list=listed, **facts)
    )
    return CodeFailure(
        kind="ptx" if code else "code",
        subject=str(gpu.capability),
        detail=detail,
        source=f"{candidate.source}; {gpu.source}",
        **facts,
    )
