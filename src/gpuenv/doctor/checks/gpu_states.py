"""Checks of the machine: what state its GPUs and its processor are in."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

_BUSY_MIB = 300
_FULL = 0.9
_TRANSLATED = "DMA"  # `DMA`, `DMA-FQ`; `identity` lets transfers between devices pass
_HUNG = "hung"
_PROCESSES = "LOCAL_WORLD_SIZE"  # set by torchrun: the processes that it starts on this machine


@check("D10")  # GPUs split by MIG
def mig(findings: Findings, _knowledge: Knowledge) -> Outcome:
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


@check("D25")  # a GPU that only one program at a time may use, or none
def compute_mode(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at nvidia-smi's compute mode: `Default`, `Exclusive_Process`, `Prohibited`."""
    states = [state for state in findings.states if state.compute_mode]
    if not states:
        return skipped(tr("nvidia-smi does not report the compute mode"))
    for state in states:
        mode = state.compute_mode or ""
        if mode == "Prohibited":
            return problem("prohibited", mode, gpu=state.index)
        if mode.startswith("Exclusive") and (state.memory_used or 0) > _BUSY_MIB:
            make = problem if subject.failed(findings) else warning
            return make("exclusive", mode, gpu=state.index, used=state.memory_used)
    return ok(", ".join(f"{state.index}: {state.compute_mode}" for state in states))


@check("D37")  # a processor, or a virtual one, without AVX
def cpu_features(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for AVX and AVX2 among the flags of /proc/cpuinfo."""
    flags = findings.limits.cpu_flags
    if findings.machine.system.arch != "x86_64" or not flags:
        return skipped(tr("the processor's flags are not available here"))
    missing = tuple(flag for flag in ("avx", "avx2") if flag not in flags)
    if not missing or subject.proven(findings):
        return ok(tr("AVX and AVX2 are available") if not missing else tr("torch works without AVX2"))
    read = tr("no {flags}", flags=" ".join(missing))
    illegal = "sigill" in subject.said(findings) or "illegal instruction" in subject.said(findings)
    make = problem if illegal or "avx" in missing else warning
    return make("no-avx", read, flags=" ".join(missing), torch=subject.torch_label(findings))


@check("D49")  # GPU memory that other programs hold
def gpu_memory(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at how much of each GPU's memory is taken."""
    states = [state for state in findings.states if state.memory_used is not None and state.memory_total]
    if not states:
        return skipped(tr("nvidia-smi does not report memory use"))
    read = ", ".join(f"{state.index}: {state.memory_used} / {state.memory_total} MiB" for state in states)
    for state in states:
        if (state.memory_used or 0) > _FULL * (state.memory_total or 1):
            return warning("held", read, gpu=state.index, used=state.memory_used, total=state.memory_total)
    return ok(read)


@check("D50")  # transfers between several GPUs, and how many processes share them
def peer_access(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the IOMMU translates what GPUs send each other, and whether each process has its own."""
    seen = findings.machine.visible_gpus
    processes = subject.variable(findings, _PROCESSES) or ""
    if seen and processes.isdecimal() and int(processes) > len(seen):
        read = f"{_PROCESSES}={processes}"
        return warning("processes", read, processes=processes, count=len(seen))
    if len(seen) < 2:  # noqa: PLR2004 - between one and none there is nothing
        return skipped(tr("there is only one GPU, or none"))
    kinds = [device.iommu for device in subject.nvidia_devices(findings) if device.iommu]
    translated = next((kind for kind in kinds if kind.startswith(_TRANSLATED)), None)
    if translated and _failed_between(findings):
        return warning("iommu", translated, kind=translated)
    if translated:
        return ok(
            tr(
                "the IOMMU translates addresses ({kind}); `gpuenv verify --nccl` tests transfers",
                kind=translated,
            )
        )
    return ok(", ".join(dict.fromkeys(kinds)) or tr("no IOMMU"))


def _failed_between(findings: Findings) -> bool:
    """Whether work hung, or NCCL failed: what is translated is harmless where it does not."""
    if findings.proof is None or not subject.failed(findings):
        return False
    return _HUNG in findings.proof.codes or "nccl" in subject.said(findings)


@check("D55")  # a GPU that is used and slow
def throttling(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the hardware slows a GPU down because of heat; idle clocks and links tell nothing."""
    states = [state for state in findings.states if state.too_hot is not None]
    if not states:
        return skipped(tr("nvidia-smi does not report whether a GPU is throttled"))
    hot = [state.index for state in states if state.too_hot]
    if hot:
        return warning("hot", tr("throttled by heat"), gpu=hot[0])
    return ok(tr("no GPU is throttled by heat"))
