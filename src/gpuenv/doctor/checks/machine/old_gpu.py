"""D23: a GPU that no published build has code for any more."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings
from gpuenv.resolution.gpu_coverage import cover
from gpuenv.resolution.target import TargetGpu

ID = "D23"
_RUNS = frozenset({"native", "ptx"})


def check(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Tell whether any known build of torch runs on the GPU."""
    gpus, platform = subject.target_gpus(findings), subject.platform_of(findings)
    if not gpus or platform is None:
        return skipped(tr("no GPU whose compute capability is known"))
    builds = knowledge.builds_of(platform)
    for gpu in gpus:
        support = knowledge.architecture_of(gpu.capability)
        left = support is not None and support.last_cuda is not None  # others may be newer than what is known
        if left and not any(cover(one, gpu.capability, knowledge) in _RUNS for one in builds):
            return problem("no-build", gpu.label, gpu=gpu.label, branch=_branch(gpu, knowledge))
    return ok(", ".join(gpu.label for gpu in gpus))


def _branch(gpu: TargetGpu, knowledge: Knowledge) -> str:
    support = knowledge.architecture_of(gpu.capability)
    return str(support.last_driver_branch) if support and support.last_driver_branch else "?"
