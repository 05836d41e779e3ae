"""D08: a container that was started without a GPU."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.container import notebook, scheduler
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D08"


def is_without_gpu(findings: Findings) -> bool:
    """Tell whether this is a container into which no GPU was handed, and nvidia-smi names no other cause."""
    return lacks_nodes(findings) and not subject.names_its_cause(findings)


def lacks_nodes(findings: Findings) -> bool:
    """Tell whether this is a container without device files of GPUs."""
    machine = findings.machine
    inside = machine.system.container is not None and not machine.system.wsl
    return inside and not machine.gpus and not subject.gpu_nodes(findings)


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for device files of GPUs, and for what the container's image asks of them."""
    kind = findings.machine.system.container
    if kind is None:
        return skipped(tr("this is no container"))
    scheduled = scheduler.is_at_work(findings) and not scheduler.granted(findings)
    if notebook.service(findings) or scheduled:
        return skipped(tr("a service or a scheduler made this container"))
    if not lacks_nodes(findings):
        return ok(tr("{kind} with a GPU", kind=kind))
    wanted = subject.variable(findings, "NVIDIA_VISIBLE_DEVICES")
    built_for = None if findings.planned_without_gpu else subject.cuda_of(findings)
    asks = subject.nvidia_devices(findings) or wanted or built_for
    read = tr("{kind}, no /dev/nvidia0", kind=kind)
    if not asks:
        return ok(read)
    case = "kubernetes" if kind == "kubernetes" else "no-gpu"
    case = "void" if wanted in ("void", "none", "") else case
    told_elsewhere = subject.names_its_cause(findings) or subject.is_cpu_build_alone(findings)
    make = warning if told_elsewhere else problem
    return make(case, read, kind=kind, wanted=wanted or "")
