"""D25: a GPU that only one program at a time may use, or none."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D25"
_BUSY_MIB = 300


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at nvidia-smi's compute mode: `Default`, `Exclusive_Process`, `Prohibited`."""
    told = [state for state in findings.states if state.compute_mode]
    if not told:
        return skipped(tr("nvidia-smi does not tell the compute mode"))
    for state in told:
        mode = state.compute_mode or ""
        if mode == "Prohibited":
            return problem("prohibited", mode, gpu=state.index)
        if mode.startswith("Exclusive") and (state.memory_used or 0) > _BUSY_MIB:
            make = problem if subject.failed(findings) else warning
            return make("exclusive", mode, gpu=state.index, used=state.memory_used)
    return ok(", ".join(f"{state.index}: {state.compute_mode}" for state in told))
