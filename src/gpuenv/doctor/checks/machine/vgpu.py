"""D26: a virtual GPU, whose profile and licence count."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D26"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell of a vGPU where its work failed."""
    if not subject.has_problem(findings, "vgpu"):
        return skipped(tr("no GPU is a vGPU"))
    message = subject.message_of(findings, "vgpu")
    return problem("fails", message, message=message) if subject.failed(findings) else ok(message)
