"""D11: CUDA's state was lost while the machine slept."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D11"
_WORDS = ("error 999", "unknown error", "cuda unknown error")


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the machine has slept since it was started, and CUDA says `unknown error`."""
    if not findings.kernel.suspended:
        return skipped(tr("the machine has not slept since it was started"))
    read = tr("it slept {count} times", count=findings.kernel.suspended)
    if subject.failed(findings) and any(word in subject.said(findings) for word in _WORDS):
        return problem("lost", read)
    return ok(read)
