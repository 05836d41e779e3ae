"""D07: CUDA_VISIBLE_DEVICES hides the GPU."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D07"
NAME = "CUDA_VISIBLE_DEVICES"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Read the variable as CUDA does: the first entry that names no device ends the list."""
    value = subject.variable(findings, NAME)
    if value is None:
        return ok(tr("not set"))
    gpus = findings.machine.gpus
    read = f"{NAME}={value}"
    if not gpus:
        return skipped(read)
    count = len(gpus)
    if not findings.machine.visible_gpus:
        entries = [entry.strip() for entry in value.split(",")]
        case = "twice" if len(set(entries)) < len(entries) else "all"
        return problem(case, read, value=value, count=count)
    entries = [entry for entry in value.split(",") if entry.strip()]
    seen = len(findings.machine.visible_gpus)
    if not value.startswith("MIG-") and seen < len(entries):
        return warning("cut-short", read, value=value, seen=seen, count=count)
    return ok(read)
