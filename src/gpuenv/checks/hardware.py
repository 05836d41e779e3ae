"""Checks of the machine: whether there is a GPU for torch, whether it starts, and its state."""

from __future__ import annotations

import re

from gpuenv.checks import queries
from gpuenv.checks.container import gave_no_gpu, granted_gpus, has_scheduler
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings
from gpuenv.resolution.gpu_coverage import cover

_RUNS = frozenset({"native", "ptx"})
_FAILED_START = "RmInitAdapter"
_XID = re.compile(r"\bXid\b.{0,80}?: (\d{1,3}),")
_LOST = frozenset({"48", "79", "94", "95", "119", "120"})
_BUSY_MIB = 300
_FULL = 0.9
_TRANSLATED = "DMA"  # `DMA`, `DMA-FQ`; `identity` lets transfers between devices pass
_HUNG = "hung"
_PROCESSES = "LOCAL_WORLD_SIZE"  # set by torchrun: the processes that it starts on this machine


@check("D35")  # a Jetson needs NVIDIA's own builds
def jetson(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether the torch on a Jetson is one of NVIDIA's, by its local version (`+nv24.08`)."""
    if not queries.has_problem(findings, "tegra"):
        return skipped(tr("this is not a Jetson that needs NVIDIA's own wheels"))
    board = queries.message_of(findings, "tegra")
    if not queries.has_torch(findings):
        return skipped(tr("torch is not installed"))
    version = queries.torch_version(findings)
    if version is None or "nv" in (version.local or ""):
        return ok(board)
    return problem("foreign-wheel", board, torch=queries.torch_label(findings), board=board)


@check("D28")  # on a Mac there is no CUDA, and a Python for Intel runs translated
def macos(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether the Python is one for this Mac's processor."""
    system, python = findings.machine.system, findings.python
    if system.os != "macos":
        return skipped(tr("this is not a Mac"))
    read = tr("processor {arch}, Python for {machine}", arch=system.arch, machine=python.machine)
    if system.arch == "aarch64" and python.machine == "x86_64":
        return problem("translated", read, torch=queries.torch_label(findings))
    return ok(read)


@check("D53")  # is there a GPU of NVIDIA's at all?
def gpu_present(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether a torch for CUDA finds hardware for it."""
    system = findings.machine.system
    if queries.sees_hardware(findings):
        names = [gpu.name or "?" for gpu in findings.machine.gpus]
        names = names or [device.device for device in queries.nvidia_devices(findings)]
        return ok(series(names) or tr("traces of an NVIDIA driver"))
    scheduled = has_scheduler(findings) and not granted_gpus(findings)
    if system.os == "macos" or system.wsl or system.container or scheduled:
        return skipped(tr("what is visible from here does not show what the machine has"))
    read = tr("no NVIDIA device on the bus, no driver")
    if queries.cuda_of(findings) is None or findings.planned_without_gpu:
        return ok(read)
    torch = queries.torch_label(findings)
    if any(device.vendor == queries.AMD for device in findings.pci):
        return problem("amd", read, torch=torch)
    return problem("none", read, torch=torch)


@check("D23")  # a GPU that no published build has code for any more
def old_gpu(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Tell whether any known build of torch runs on the GPU."""
    gpus, platform = queries.target_gpus(findings), queries.platform_of(findings)
    if not gpus or platform is None:
        return skipped(tr("no GPU whose compute capability is known"))
    builds = knowledge.builds_of(platform)
    for gpu in gpus:
        support = knowledge.architecture_of(gpu.capability)
        left = support is not None and support.last_cuda is not None  # others may be newer than what is known
        if left and not any(cover(build, gpu.capability, knowledge) in _RUNS for build in builds):
            branch = (support.last_driver_branch if support else None) or "?"
            return problem("no-build", gpu.label, gpu=gpu.label, branch=branch)
    return ok(series(gpu.label for gpu in gpus))


@check("D22")  # the driver is loaded and can't start the GPU
def gpu_initialisation(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a driver without devices, and for the kernel's word on why."""
    line = next((line for line in findings.kernel.messages if _FAILED_START in line), None)
    needs_open = any("open kernel modules" in text for text in findings.kernel.messages)
    if findings.machine.gpus:
        return ok(tr("the driver shows its GPUs"))
    if needs_open:
        return skipped(tr("the kernel log has the reason: see the check of the kernel modules"))
    if line is not None:
        return problem("rm-init", tr("no GPU responds"), line=line)
    if queries.has_problem(findings, "no-devices") and not gave_no_gpu(findings):
        message = queries.complaint_of(findings, "no-devices")
        return problem("no-devices", tr("no GPU responds"), message=message)
    return skipped(tr("no GPU responds"))


@check("D24")  # a GPU that is lost or answers with errors
def failing_gpu(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for lost GPUs, uncorrected memory errors and the kernel's Xid messages."""
    if queries.has_problem(findings, "gpu-lost", "gpu-error"):
        message = queries.complaint_of(findings, "gpu-lost", "gpu-error")
        return problem("lost", tr("a GPU that does not respond"), message=message)
    xids = tuple(match[1] for line in findings.kernel.messages if (match := _XID.search(line)))
    if _LOST & set(xids) and not queries.proven(findings):
        return problem("xid", f"Xid {' '.join(dict.fromkeys(xids))}", xid=xids[-1])
    faulty = [state for state in findings.states if state.ecc_errors]
    if faulty:
        count = faulty[0].ecc_errors
        return warning("ecc", tr("{count} uncorrected errors", count=count), gpu=faulty[0].index, count=count)
    if not findings.machine.gpus:
        return skipped(tr("no GPU responds"))
    return ok(tr("no GPU is lost, no uncorrected memory errors were reported"))


@check("D26")  # a virtual GPU, whose profile and licence count
def vgpu(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell of a vGPU where its work failed."""
    if not queries.has_problem(findings, "vgpu"):
        return skipped(tr("no GPU is a vGPU"))
    message = queries.message_of(findings, "vgpu")
    return problem("fails", message, message=message) if queries.failed(findings) else ok(message)


@check("D10")  # GPUs split by MIG
def mig(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether programs find an instance: split, a GPU is no device by itself."""
    split = [gpu.index for gpu in findings.machine.gpus if gpu.mig]
    if not split:
        return skipped(tr("no GPU is split by MIG"))
    chosen = queries.variable(findings, "CUDA_VISIBLE_DEVICES")
    read = tr("MIG is on for GPU {indices}", indices=series(map(str, split)))
    if queries.proven(findings):
        return ok(read)
    if queries.failed(findings):
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
            make = problem if queries.failed(findings) else warning
            return make("exclusive", mode, gpu=state.index, used=state.memory_used)
    return ok(series(f"{state.index}: {state.compute_mode}" for state in states))


@check("D37")  # a processor, or a virtual one, without AVX
def cpu_features(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for AVX and AVX2 among the flags of /proc/cpuinfo."""
    flags = findings.limits.cpu_flags
    if findings.machine.system.arch != "x86_64" or not flags:
        return skipped(tr("the processor's flags are not available here"))
    missing = tuple(flag for flag in ("avx", "avx2") if flag not in flags)
    if not missing or queries.proven(findings):
        return ok(tr("AVX and AVX2 are available") if not missing else tr("torch works without AVX2"))
    read = tr("no {flags}", flags=" ".join(missing))
    illegal = "sigill" in queries.said(findings) or "illegal instruction" in queries.said(findings)
    make = problem if illegal or "avx" in missing else warning
    return make("no-avx", read, flags=" ".join(missing), torch=queries.torch_label(findings))


@check("D49")  # GPU memory that other programs hold
def gpu_memory(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at how much of each GPU's memory is taken."""
    states = [state for state in findings.states if state.memory_used is not None and state.memory_total]
    if not states:
        return skipped(tr("nvidia-smi does not report memory use"))
    read = series(f"{state.index}: {state.memory_used} / {state.memory_total} MiB" for state in states)
    for state in states:
        if (state.memory_used or 0) > _FULL * (state.memory_total or 1):
            return warning("held", read, gpu=state.index, used=state.memory_used, total=state.memory_total)
    return ok(read)


@check("D50")  # transfers between several GPUs, and how many processes share them
def peer_access(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the IOMMU translates what GPUs send each other, and whether each process has its own."""
    seen = findings.machine.visible_gpus
    processes = queries.variable(findings, _PROCESSES) or ""
    if seen and processes.isdecimal() and int(processes) > len(seen):
        read = f"{_PROCESSES}={processes}"
        return warning("processes", read, processes=processes, count=len(seen))
    if len(seen) < 2:  # noqa: PLR2004 - between one and none there is nothing
        return skipped(tr("there is only one GPU, or none"))
    kinds = [device.iommu for device in queries.nvidia_devices(findings) if device.iommu]
    translated = next((kind for kind in kinds if kind.startswith(_TRANSLATED)), None)
    if translated and _failed_between(findings):
        return warning("iommu", translated, kind=translated)
    if translated:
        template = N_("the IOMMU translates addresses ({kind}); `gpuenv verify --nccl` tests transfers")
        return ok(tr(template, kind=translated))
    return ok(series(dict.fromkeys(kinds)) or tr("no IOMMU"))


def _failed_between(findings: Findings) -> bool:
    """Whether work hung, or NCCL failed: what is translated is harmless where it does not."""
    if findings.proof is None or not queries.failed(findings):
        return False
    return _HUNG in findings.proof.codes or "nccl" in queries.said(findings)


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
