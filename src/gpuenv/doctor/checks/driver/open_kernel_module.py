"""D21: the open and the proprietary kernel module do not serve the same GPUs."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D21"
_WORDS = "requires use of the NVIDIA open kernel modules"
_UNSUPPORTED = "not supported by open"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at the kind of the loaded module, and for the kernel's word that it is the wrong one."""
    told = findings.kernel.nvidia
    if any(_WORDS in line for line in findings.kernel.messages):
        return problem("needs-open", _WORDS)
    if any(_UNSUPPORTED in line.lower() for line in findings.kernel.messages):
        return problem("needs-closed", _UNSUPPORTED)
    if told is None:
        return skipped(tr("no module of NVIDIA's is loaded"))
    is_open = "Open Kernel Module" in told
    if not findings.machine.gpus and subject.nvidia_devices(findings) and is_open:
        return problem("open-without-gpu", told)
    return ok(tr("the open module") if is_open else tr("the proprietary module"))
