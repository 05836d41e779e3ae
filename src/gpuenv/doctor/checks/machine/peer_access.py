"""D50: what goes on between several GPUs: transfers past the processor, and how many processes share them."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D50"
_TRANSLATED = "DMA"  # `DMA`, `DMA-FQ`; `identity` lets transfers between devices pass
_HUNG = "hung"
_PROCESSES = "LOCAL_WORLD_SIZE"  # set by torchrun: the processes that it starts on this machine


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the IOMMU translates what GPUs send each other, and whether each process has its own."""
    seen = findings.machine.visible_gpus
    processes = subject.variable(findings, _PROCESSES) or ""
    if seen and processes.isdecimal() and int(processes) > len(seen):
        read = f"{_PROCESSES}={processes}"
        return warning("processes", read, processes=processes, count=len(seen))
    if len(seen) < 2:  # noqa: PLR2004 - between one and none there is nothing
        return skipped(tr("there are not several GPUs"))
    kinds = [one.iommu for one in subject.nvidia_devices(findings) if one.iommu]
    translated = next((kind for kind in kinds if kind.startswith(_TRANSLATED)), None)
    if translated and _failed_between(findings):
        return warning("iommu", translated, kind=translated)
    if translated:
        return ok(tr("the IOMMU translates ({kind}); `gpuenv verify --nccl` tries it", kind=translated))
    return ok(", ".join(dict.fromkeys(kinds)) or tr("no IOMMU"))


def _failed_between(findings: Findings) -> bool:
    """Whether work hung, or NCCL failed: what is translated is harmless where it does not."""
    if findings.proof is None or not subject.failed(findings):
        return False
    return _HUNG in findings.proof.codes or "nccl" in subject.said(findings)
