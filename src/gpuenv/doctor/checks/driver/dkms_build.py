"""D20: a new kernel for which the driver's module was not built."""

from __future__ import annotations

from gpuenv.doctor.checks.driver import kernel_modules as modules
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D20"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the module in /lib/modules of the running kernel, and of others."""
    kernel = findings.kernel
    if not modules.is_missing(findings) or kernel.built is None:
        return skipped(tr("the module is loaded, or there is no hardware for it"))
    if kernel.built or not kernel.built_for:
        return ok(tr("no other kernel has a module that this one lacks"))
    others = ", ".join(kernel.built_for)
    read = tr("kernel {release} has no nvidia module, {others} has", release=kernel.release, others=others)
    return problem("not-built", read, release=kernel.release, others=others)
