"""D49: GPU memory that other programs hold."""

from __future__ import annotations

from gpuenv.doctor.checks.outcome import Outcome, ok, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D49"
_FULL = 0.9


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at how much of each GPU's memory is taken."""
    told = [state for state in findings.states if state.memory_used is not None and state.memory_total]
    if not told:
        return skipped(tr("nvidia-smi does not tell how much memory is used"))
    read = ", ".join(f"{state.index}: {state.memory_used} / {state.memory_total} MiB" for state in told)
    for state in told:
        if (state.memory_used or 0) > _FULL * (state.memory_total or 1):
            return warning("held", read, gpu=state.index, used=state.memory_used, total=state.memory_total)
    return ok(read)
