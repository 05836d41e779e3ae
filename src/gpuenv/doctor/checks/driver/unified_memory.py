"""D06: the module of unified memory is not there."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D06"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for nvidia_uvm, loaded when CUDA first starts: only a failure makes its lack a problem."""
    if not subject.is_posix_linux(findings) or findings.machine.system.container or not findings.machine.gpus:
        return skipped(tr("this is no machine with a driver of its own"))
    if subject.has_node(findings, "nvidia-uvm") and "nvidia_uvm" in findings.kernel.modules:
        return ok("/dev/nvidia-uvm")
    read = tr("nvidia_uvm is not loaded, or /dev/nvidia-uvm is not there")
    if subject.proven(findings):
        return ok(tr("torch works without it"))
    if subject.failed(findings) and (
        "999" in subject.said(findings) or "unknown error" in subject.said(findings)
    ):
        return problem("missing", read)
    return warning("missing", read) if findings.kernel.modules else skipped(tr("the modules can't be read"))
