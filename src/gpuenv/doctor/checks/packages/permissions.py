"""D59: a Python that belongs to the system."""

from __future__ import annotations

from gpuenv.doctor.checks.outcome import Outcome, ok, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D59"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for EXTERNALLY-MANAGED, and for a torch that went to the user site because of it."""
    python = findings.python
    if python.problem:
        return skipped(python.problem)
    own = findings.torch.place if findings.torch else ""
    in_user_site = bool(python.user_site and own.startswith(python.user_site))
    if in_user_site and python.prefix == python.base_prefix:
        return warning("user-site", own, place=own)
    if python.locked:
        return ok(tr("{path} belongs to the system", path=python.path))
    return ok(tr("packages can be installed") if python.writable else tr("this user can't install packages"))
