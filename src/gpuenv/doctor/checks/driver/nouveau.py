"""D19: another driver has the GPU, or NVIDIA's is kept out."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.driver import kernel_modules as modules
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D19"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look which driver is bound to the GPU, and for files that keep nvidia's out."""
    if not modules.is_missing(findings):
        return skipped(tr("the module is loaded, or there is no hardware for it"))
    bound = {one.driver for one in subject.nvidia_devices(findings)} - {None, "nvidia"}
    if "nouveau" in bound or "nouveau" in findings.kernel.modules:
        return problem("nouveau", tr("nouveau has the GPU"))
    if any((name or "").startswith("vfio") for name in bound):
        return problem("vfio", tr("vfio-pci has the GPU"))
    if findings.kernel.blacklists:
        return problem("blacklist", findings.kernel.blacklists[0], file=findings.kernel.blacklists[0])
    return ok(tr("no other driver has the GPU"))
