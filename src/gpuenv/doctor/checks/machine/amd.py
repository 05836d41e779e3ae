"""D51: a build for AMD's GPUs."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D51"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether a ROCm build finds /dev/kfd, may open it, and is not on NVIDIA hardware."""
    variant = subject.variant_of(findings)
    if variant is None or not variant.name.startswith("rocm"):
        return skipped(tr("torch is no ROCm build"))
    torch = subject.torch_label(findings)
    if findings.machine.gpus and not any(one.vendor == subject.AMD for one in findings.pci):
        return problem("nvidia", variant.name, torch=torch)
    node = next((node for node in findings.nodes if node.path.endswith("/kfd")), None)
    if node is None:
        return problem("no-device", tr("there is no /dev/kfd"), torch=torch)
    return ok(node.path) if node.usable else problem("closed", node.path, node=node.path)
