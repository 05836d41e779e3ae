"""D04: the driver's kernel module is not loaded, or the driver does not answer."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.container import container
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D04"
_OWN_CHECKS = frozenset({"driver-mismatch", "no-devices", "gpu-lost", "gpu-error"})


def is_missing(findings: Findings) -> bool:
    """Tell whether there is hardware on this Linux whose kernel module is not loaded."""
    if not subject.is_posix_linux(findings) or findings.kernel.nvidia is not None:
        return False
    if findings.machine.gpus or container.lacks_nodes(findings):
        return False
    return bool(subject.nvidia_devices(findings)) or subject.has_problem(findings, "driver-not-loaded")


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the module is loaded, and what detect says is wrong with the driver."""
    kernel = findings.kernel
    if is_missing(findings) and kernel.libraries:
        return problem("not-loaded", tr("no /proc/driver/nvidia, but {path}", path=kernel.libraries[0]))
    broken = subject.broken_driver(findings)
    told = next((text for code, text in broken if code not in _OWN_CHECKS and code != "no-driver"), None)
    system = findings.machine.system
    if told and not system.wsl and not container.is_without_gpu(findings):
        return problem("broken", subject.without_repair(told), message=told)
    driver = findings.machine.driver
    if driver is None:
        return skipped(tr("there is no driver"))
    return ok(tr("driver {version}", version=driver.version))
