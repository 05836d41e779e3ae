"""D10: GPUs split by MIG."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D10"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether programs find an instance: split, a GPU is no device by itself."""
    split = [gpu.index for gpu in findings.machine.gpus if gpu.mig]
    if not split:
        return skipped(tr("no GPU is split by MIG"))
    chosen = subject.variable(findings, "CUDA_VISIBLE_DEVICES")
    read = tr("MIG is on for GPU {indices}", indices=", ".join(map(str, split)))
    if subject.proven(findings):
        return ok(read)
    if subject.failed(findings):
        return problem("no-instance", read, gpu=split[0], chosen=chosen or tr("not set"))
    if chosen and not chosen.startswith("MIG-"):
        return warning("by-number", read, gpu=split[0], chosen=chosen)
    return ok(read)
