"""D18: Secure Boot refuses the driver's kernel module."""

from __future__ import annotations

from gpuenv.doctor.checks.driver import kernel_modules as modules
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D18"
_WORDS = ("Key was rejected by service", "unsigned module", "module verification failed")


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a module on disk that is not loaded while Secure Boot is on, and for the kernel's word."""
    kernel = findings.kernel
    if not modules.is_missing(findings):
        return skipped(tr("the module is loaded, or there is no hardware for it"))
    line = next((line for line in kernel.messages if any(word in line for word in _WORDS[:2])), None)
    if line or (kernel.secure_boot and kernel.built and not kernel.blacklists):
        return problem("rejected", line or tr("Secure Boot is on, the module is there and not loaded"))
    return ok(tr("Secure Boot is off, or there is no module to be refused"))
