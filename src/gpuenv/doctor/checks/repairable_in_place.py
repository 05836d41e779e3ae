"""Whether the packages of an environment are gpuenv's to change where they are."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.i18n.messages import tr
from gpuenv.model.findings import Findings


def hindrance(findings: Findings) -> str | None:
    """Return why the packages can't be repaired in place, None where they can."""
    torch = subject.dist_of(findings, "torch")
    if (torch is not None and torch.installer == "conda") or subject.conda_of(findings, "pytorch"):
        return tr("conda installed this torch: repair it with conda, or recreate the environment")
    if findings.python.locked or not findings.python.writable:
        return tr("this Python belongs to the system: create an environment instead")
    if findings.unread:
        return tr("not all of this environment can be read by this user")
    if findings.python.free_threaded:
        return tr("gpuenv does not plan builds for a free-threaded Python")
    return None
