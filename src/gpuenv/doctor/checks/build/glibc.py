"""D34: a C library that the build does not run with."""

from __future__ import annotations

import re

from packaging.version import Version

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D34"
_TAG = re.compile(r"manylinux_(\d{1,2})_(\d{1,3})_")
_OLD_TAGS = {"manylinux2014": "2.17", "manylinux2010": "2.12", "manylinux1": "2.5"}


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare glibc with the platform tag of torch's wheel."""
    system, torch = findings.machine.system, subject.dist_of(findings, "torch")
    if system.os != "linux" or system.libc is None:
        return skipped(tr("this is no Linux"))
    read = f"{system.libc} {system.libc_version or '?'}"
    return _told(findings, read) or _compared(findings, _needed(torch.tags if torch else ()), read)


def _told(findings: Findings, read: str) -> Outcome | None:
    """Return what torch's own error says."""
    words = subject.said(findings)
    if "executable stack" in words:
        return problem("executable-stack", read, libc=read)
    return problem("libstdcxx", read) if "glibcxx" in words or "cxxabi" in words else None


def _compared(findings: Findings, needed: Version | None, read: str) -> Outcome:
    system = findings.machine.system
    if needed is None:
        return ok(read)
    if system.libc != "glibc":
        return problem("musl", read, needs=needed)
    have = subject.version_of(system.libc_version)
    if have is not None and have < needed and not subject.proven(findings):
        return problem("too-old", read, needs=needed, libc=read, torch=subject.torch_label(findings))
    return ok(read)


def _needed(tags: tuple[str, ...]) -> Version | None:
    """Return the least glibc that any of the tags asks for: a wheel may carry several."""
    found = [Version(f"{match[1]}.{match[2]}") for tag in tags if (match := _TAG.search(tag))]
    found += [Version(floor) for tag in tags for name, floor in _OLD_TAGS.items() if f"{name}_" in tag]
    return min(found, default=None)
