"""D39: the wrong interpreter: one that can't be run or may not be read, or one that has no torch."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, warning
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D39"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the Python runs, has a torch, and is the one that `python` means."""
    python = findings.python
    read = f"{python.path} ({python.version or '?'})"
    if python.problem and findings.conda and not subject.conda_of(findings, "python"):
        return problem("no-python", python.problem)
    if python.problem:
        return problem("broken", python.problem, reason=python.problem, path=python.path)
    if findings.unread and not subject.works(findings):
        return problem("closed", findings.unread[0], path=findings.unread[0])
    there = subject.has_torch(findings) or subject.conda_of(findings, "pytorch") or subject.works(findings)
    if not there:
        return problem("no-torch", read, path=python.path)
    first = findings.first_python
    active = subject.variable(findings, "VIRTUAL_ENV") or subject.variable(findings, "CONDA_PREFIX")
    if not findings.named and first and active and not _lies_in(first, active):
        return warning("another-first", first, active=active, first=first)
    return ok(read)


def _lies_in(path: str, folder: str) -> bool:
    place = folder.replace("\\", "/").rstrip("/").lower() + "/"
    return path.replace("\\", "/").lower().startswith(place)
