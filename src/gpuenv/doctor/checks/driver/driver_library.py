"""D03: the driver's library is not there."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.driver import kernel_modules as modules
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

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
    return ok(tr("torch finds it")) if subject.proven(findings) else _sought(findings)


def _sought(findings: Findings) -> Outcome:
    words, read = subject.said(findings), tr("no libcuda.so.1 in the usual places")
    if "libcuda.so" in words or "no nvidia driver" in words:
        return problem("no-library", read)
    if not (findings.kernel.nvidia or subject.gpu_nodes(findings)):
        return skipped(tr("nothing but `nvidia-smi` tells of a driver"))
    return warning("no-library", read)
