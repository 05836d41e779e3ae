"""D37: a processor, or a virtual one, without AVX."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D37"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for AVX and AVX2 among the flags of /proc/cpuinfo."""
    flags = findings.limits.cpu_flags
    if findings.machine.system.arch != "x86_64" or not flags:
        return skipped(tr("the processor's flags are not told here"))
    missing = tuple(flag for flag in ("avx", "avx2") if flag not in flags)
    if not missing or subject.proven(findings):
        return ok(tr("AVX and AVX2 are there") if not missing else tr("torch works without AVX2"))
    read = tr("no {flags}", flags=" ".join(missing))
    illegal = "sigill" in subject.said(findings) or "illegal instruction" in subject.said(findings)
    make = problem if illegal or "avx" in missing else warning
    return make("no-avx", read, flags=" ".join(missing), torch=subject.torch_label(findings))
