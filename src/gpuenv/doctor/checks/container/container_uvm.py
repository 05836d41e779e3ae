"""D56: a container that lacks the device of unified memory."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D56"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for /dev/nvidia-uvm where /dev/nvidia0 was handed in."""
    system = findings.machine.system
    if system.container is None or system.wsl or not subject.gpu_nodes(findings):
        return skipped(tr("this is no container with a GPU"))
    if subject.has_node(findings, "nvidia-uvm") or subject.proven(findings):
        return ok("/dev/nvidia-uvm")
    return problem("no-uvm", tr("/dev/nvidia0 without /dev/nvidia-uvm"), kind=system.container)
