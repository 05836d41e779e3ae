"""Checks of the machine: whether there is a GPU for torch, and whether it starts."""

from __future__ import annotations

import re

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.container import gave_no_gpu, granted_gpus, has_scheduler
from gpuenv.doctor.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings
from gpuenv.resolution.gpu_coverage import cover
from gpuenv.resolution.target import TargetGpu

_RUNS = frozenset({"native", "ptx"})
_FAILED_START = "RmInitAdapter"
_XID = re.compile(r"\bXid\b.{0,80}?: (\d{1,3}),")
_LOST = frozenset({"48", "79", "94", "95", "119", "120"})


@check("D35")  # a Jetson needs NVIDIA's own builds
def jetson(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether the torch on a Jetson is one of NVIDIA's, by its local version (`+nv24.08`)."""
    if not subject.has_problem(findings, "tegra"):
        return skipped(tr("this is not a Jetson that needs NVIDIA's own wheels"))
    board = subject.message_of(findings, "tegra")
    if not subject.has_torch(findings):
        return skipped(tr("torch is not installed"))
    version = subject.torch_version(findings)
    if version is None or "nv" in (version.local or ""):
        return ok(board)
    return problem("foreign-wheel", board, torch=subject.torch_label(findings), board=board)


@check("D28")  # on a Mac there is no CUDA, and a Python for Intel runs translated
def macos(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether the Python is one for this Mac's processor."""
    system, python = findings.machine.system, findings.python
    if system.os != "macos":
        return skipped(tr("this is not a Mac"))
    read = tr("processor {arch}, Python for {machine}", arch=system.arch, machine=python.machine)
    if system.arch == "aarch64" and python.machine == "x86_64":
        return problem("translated", read, torch=subject.torch_label(findings))
    return ok(read)


@check("D53")  # is there a GPU of NVIDIA's at all?
def gpu_present(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether a torch for CUDA finds hardware for it."""
    system = findings.machine.system
    if subject.sees_hardware(findings):
        names = [gpu.name or "?" for gpu in findings.machine.gpus]
        names = names or [device.device for device in subject.nvidia_devices(findings)]
        return ok(", ".join(names) or tr("traces of an NVIDIA driver"))
    scheduled = has_scheduler(findings) and not granted_gpus(findings)
    if system.os == "macos" or system.wsl or system.container or scheduled:
        return skipped(tr("what is visible from here does not show what the machine has"))
    read = tr("no NVIDIA device on the bus, no driver")
    if subject.cuda_of(findings) is None or findings.planned_without_gpu:
        return ok(read)
    torch = subject.torch_label(findings)
    if any(device.vendor == subject.AMD for device in findings.pci):
        return problem("amd", read, torch=torch)
    return problem("none", read, torch=torch)


@check("D23")  # a GPU that no published build has code for any more
def old_gpu(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Tell whether any known build of torch runs on the GPU."""
    gpus, platform = subject.target_gpus(findings), subject.platform_of(findings)
    if not gpus or platform is None:
        return skipped(tr("no GPU whose compute capability is known"))
    builds = knowledge.builds_of(platform)
    for gpu in gpus:
        support = knowledge.architecture_of(gpu.capability)
        left = support is not None and support.last_cuda is not None  # others may be newer than what is known
        if left and not any(cover(build, gpu.capability, knowledge) in _RUNS for build in builds):
            return problem("no-build", gpu.label, gpu=gpu.label, branch=_branch(gpu, knowledge))
    return ok(", ".join(gpu.label for gpu in gpus))


def _branch(gpu: TargetGpu, knowledge: Knowledge) -> str:
    support = knowledge.architecture_of(gpu.capability)
    return str(support.last_driver_branch) if support and support.last_driver_branch else "?"


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
    if subject.has_problem(findings, "no-devices") and not gave_no_gpu(findings):
        message = subject.complaint_of(findings, "no-devices")
        return problem("no-devices", tr("no GPU responds"), message=message)
    return skipped(tr("no GPU responds"))


@check("D24")  # a GPU that is lost or answers with errors
def failing_gpu(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for lost GPUs, uncorrected memory errors and the kernel's Xid messages."""
    if subject.has_problem(findings, "gpu-lost", "gpu-error"):
        message = subject.complaint_of(findings, "gpu-lost", "gpu-error")
        return problem("lost", tr("a GPU that does not respond"), message=message)
    xids = tuple(match[1] for line in findings.kernel.messages if (match := _XID.search(line)))
    if _LOST & set(xids) and not subject.proven(findings):
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
    if not subject.has_problem(findings, "vgpu"):
        return skipped(tr("no GPU is a vGPU"))
    message = subject.message_of(findings, "vgpu")
    return problem("fails", message, message=message) if subject.failed(findings) else ok(message)
