"""D55: a GPU that is used and slow."""

from __future__ import annotations

from gpuenv.doctor.checks.outcome import Outcome, ok, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D55"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the hardware slows a GPU down because of heat; idle clocks and links tell nothing."""
    told = [state for state in findings.states if state.too_hot is not None]
    if not told:
        return skipped(tr("nvidia-smi does not tell whether a GPU is slowed down"))
    hot = [state.index for state in told if state.too_hot]
    if hot:
        return warning("hot", tr("slowed down by heat"), gpu=hot[0])
    return ok(tr("no GPU is slowed down by heat"))
