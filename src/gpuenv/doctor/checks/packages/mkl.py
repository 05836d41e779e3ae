"""D33: an MKL that lost a symbol that old conda builds of torch need."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.doctor.checks.packages import known_combinations
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D33"


def check(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Judge conda's torch and mkl by the known-bad combinations."""
    mkl, torch = subject.conda_of(findings, "mkl"), subject.conda_of(findings, "pytorch")
    if mkl is None or torch is None:
        return skipped(tr("no torch and mkl of conda's"))
    read = f"mkl {mkl.version}, pytorch {torch.version} {torch.build}"
    row = known_combinations.applying(findings, knowledge, about="mkl")
    if row is None or subject.proven(findings):
        return ok(read)
    return problem("symbol", read, mkl=mkl.version, torch=torch.version, remedy=row.remedy)
