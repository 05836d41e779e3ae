"""D01: a build of torch without GPU code."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D01"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Read `cuda` in torch/version.py, where there is a GPU for it."""
    variant = subject.variant_of(findings)
    if not subject.has_torch(findings):
        return skipped(tr("torch is not installed"))
    if variant is None:
        return skipped(tr("nothing tells which variant torch is"))
    read = subject.torch_label(findings)
    if not variant.is_cpu or not subject.sees_hardware(findings):
        return ok(read)
    gpu = next((gpu.name for gpu in findings.machine.gpus if gpu.name), tr("an NVIDIA GPU"))
    if findings.cpu_requested:
        return warning("requested", read, torch=read, gpu=gpu)
    if subject.conda_of(findings, "pytorch"):
        return skipped(tr("conda chose this build: see its own check"))
    return problem("cpu", read, torch=read, gpu=gpu)
