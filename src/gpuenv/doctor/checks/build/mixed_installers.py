"""D36: torch from pip and torch from conda in one environment."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D36"
_NAMES = ("pytorch", "pytorch-gpu", "pytorch-cpu", "libtorch")


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for conda's record of torch beside metadata that another installer wrote."""
    if not findings.conda:
        return skipped(tr("this is no conda environment"))
    record = next((item for name in _NAMES if (item := subject.conda_of(findings, name))), None)
    own = (dist for dist in subject.dists_of(findings, "torch") if dist.place in findings.python.packages)
    foreign = [dist for dist in own if (dist.installer or "conda") != "conda"]
    if record and foreign:
        dist = foreign[0]
        read = f"{record.name} {record.version} {record.build}; torch {dist.version} ({dist.installer})"
        facts = {
            "conda": f"{record.name} {record.version}",
            "pip": f"torch {dist.version}",
            "tool": dist.installer,
        }
        return problem("both", read, **facts)
    return ok(f"{record.name} {record.version}" if record else tr("torch comes from pip or uv alone"))
