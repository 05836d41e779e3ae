"""D22: the driver is loaded and can't start the GPU."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.container import scheduler
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D22"
_WORD = "RmInitAdapter"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a driver without devices, and for the kernel's word on why."""
    line = next((line for line in findings.kernel.messages if _WORD in line), None)
    needs_open = any("open kernel modules" in text for text in findings.kernel.messages)
    if findings.machine.gpus:
        return ok(tr("the driver shows its GPUs"))
    if needs_open:
        return skipped(tr("the kernel tells why: see the check of its modules"))
    if line is not None:
        return problem("rm-init", tr("no GPU answers"), line=line)
    if subject.has_problem(findings, "no-devices") and not scheduler.gave_none(findings):
        message = subject.complaint_of(findings, "no-devices")
        return problem("no-devices", tr("no GPU answers"), message=message)
    return skipped(tr("no GPU answers"))
