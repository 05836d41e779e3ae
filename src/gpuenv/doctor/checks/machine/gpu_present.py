"""D53: is there a GPU of NVIDIA's at all?"""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.container import scheduler
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D53"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether a torch for CUDA finds hardware for it."""
    system = findings.machine.system
    if subject.sees_hardware(findings):
        names = [gpu.name or "?" for gpu in findings.machine.gpus]
        names = names or [one.device for one in subject.nvidia_devices(findings)]
        return ok(", ".join(names) or tr("traces of an NVIDIA driver"))
    scheduled = scheduler.is_at_work(findings) and not scheduler.granted(findings)
    if system.os == "macos" or system.wsl or system.container or scheduled:
        return skipped(tr("what this place sees is no proof of what the machine has"))
    read = tr("no NVIDIA device on the bus, no driver")
    if subject.cuda_of(findings) is None or findings.planned_without_gpu:
        return ok(read)
    torch = subject.torch_label(findings)
    if any(one.vendor == subject.AMD for one in findings.pci):
        return problem("amd", read, torch=torch)
    return problem("none", read, torch=torch)
