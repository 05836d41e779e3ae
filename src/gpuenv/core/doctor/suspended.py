"""D11: CUDA's state was lost while the machine slept."""

from __future__ import annotations

from gpuenv.core.doctor import subject
from gpuenv.core.doctor.outcome import Outcome, ok, problem, skipped
from gpuenv.core.knowledge import Knowledge
from gpuenv.values.findings import Findings
from gpuenv.values.text import tr

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
