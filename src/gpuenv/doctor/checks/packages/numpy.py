"""D41: NumPy 2 with a torch built for NumPy 1."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.doctor.checks.packages import known_combinations
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D41"


def check(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Judge numpy and torch by the known-bad combinations."""
    numpy, torch = subject.installed(findings, "numpy"), subject.torch_version(findings)
    if numpy is None or torch is None:
        return skipped(tr("no torch, or no numpy"))
    row = known_combinations.applying(findings, knowledge, about="numpy")
    read = f"numpy {numpy}, torch {torch}"
    if row is None:
        return ok(read)
    needs = " ".join(row.constrain) or row.remedy
    return problem("too-new", read, numpy=numpy, torch=subject.torch_label(findings), wanted=needs)
