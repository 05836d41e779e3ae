"""D03: the driver's library is not there."""

from __future__ import annotations

from gpuenv.core.doctor import modules, subject
from gpuenv.core.doctor.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.core.knowledge import Knowledge
from gpuenv.values.findings import Findings
from gpuenv.values.text import tr

ID = "D03"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for libcuda.so where the loader looks."""
    libraries = findings.kernel.libraries
    if not subject.is_posix_linux(findings):
        return skipped(tr("the driver is Windows'"))
    if libraries:
        return ok(libraries[0])
    if modules.is_missing(findings):
        return problem("no-driver", tr("hardware, but neither module nor libcuda"))
    if subject.broken_driver(findings) or not findings.machine.gpus:
        return skipped(tr("no GPU answers"))
    if subject.proven(findings):
        return ok(tr("torch finds it"))
    words = subject.said(findings)
    make = problem if "libcuda" in words or "no nvidia driver" in words else warning
    return make("no-library", tr("no libcuda.so.1 in the usual places"))
