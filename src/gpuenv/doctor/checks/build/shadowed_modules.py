"""D38: another torch is imported than the one that is installed here."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D38"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a torch in the user site, on PYTHONPATH and in the current directory."""
    for path, why in findings.foreign_torch:
        own = subject.torch_label(findings) if findings.torch else tr("no torch")
        return problem(why, path, path=path, own=own)
    if findings.here:
        return problem("here", findings.here[0], file=findings.here[0])
    return ok(findings.torch.place if findings.torch else tr("no other torch is on the path"))
