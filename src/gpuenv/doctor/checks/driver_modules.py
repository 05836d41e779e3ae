"""Checks of the driver: its kernel modules."""

from __future__ import annotations

import re

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.container import is_without_gpu, lacks_nodes
from gpuenv.doctor.checks.outcome import Outcome, check, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

_MODULE_VERSION = re.compile(r"\s(\d{3,4}(?:\.\d{1,4}){1,2})\s")
_LIBRARY_VERSION = re.compile(r"libcuda\.so\.(\d{3,4}(?:\.\d{1,4}){1,2})")
_NVML_VERSION = re.compile(r"NVML library version: (\d{3,4}(?:\.\d{1,4}){1,2})")  # of nvidia-smi itself
_NEEDS_OPEN = "requires use of the NVIDIA open kernel modules"
_NEEDS_CLOSED = "not supported by open"
_REJECTED = ("Key was rejected by service", "unsigned module", "module verification failed")
_OWN_CHECKS = frozenset({"driver-mismatch", "no-devices", "gpu-lost", "gpu-error"})


@check("D13")  # the kernel module and the library are of different drivers
def driver_mismatch(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the version of the loaded module with those of the driver's library."""
    if not subject.is_posix_linux(findings):
        return skipped(tr("the driver is the one of Windows"))
    loaded = _MODULE_VERSION.search((findings.kernel.nvidia or "") + " ")
    module = loaded[1] if loaded else None
    files = tuple(
        matched[1] for path in findings.kernel.libraries if (matched := _LIBRARY_VERSION.search(path))
    )
    differ = bool(module and files) and module not in files
    if subject.has_problem(findings, "driver-mismatch"):
        match = _NVML_VERSION.search(subject.message_of(findings, "driver-mismatch"))
        return _mismatch(module, match[1] if match else " ".join(files))
    if differ and not subject.proven(findings):
        return _mismatch(module, " ".join(files))
    if module is None or not files:
        return skipped(tr("one of the versions is not known"))
    return ok(tr("module {module}, library {files}", module=module, files=" ".join(files)))


def _mismatch(module: str | None, library: str) -> Outcome:
    unknown = tr("of another version") if module or library else "?"
    facts = {"module": module or unknown, "library": library or unknown}
    return problem(
        "mismatch",
        tr("module {module}, library {files}", module=module or "?", files=library or "?"),
        **facts,
    )


@check("D21")  # the open and the proprietary kernel module do not serve the same GPUs
def open_kernel_module(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at the kind of the loaded module, and for the kernel's word that it is the wrong one."""
    message = findings.kernel.nvidia
    if any(_NEEDS_OPEN in line for line in findings.kernel.messages):
        return problem("needs-open", _NEEDS_OPEN)
    if any(_NEEDS_CLOSED in line.lower() for line in findings.kernel.messages):
        return problem("needs-closed", _NEEDS_CLOSED)
    if message is None:
        return skipped(tr("no NVIDIA kernel module is loaded"))
    is_open = "Open Kernel Module" in message
    if not findings.machine.gpus and subject.nvidia_devices(findings) and is_open:
        return problem("open-without-gpu", message)
    return ok(tr("the open module") if is_open else tr("the proprietary module"))


@check("D18")  # Secure Boot refuses the driver's kernel module
def secure_boot(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a module on disk that is not loaded while Secure Boot is on, and for the kernel's word."""
    kernel = findings.kernel
    if not lacks_module(findings):
        return skipped(tr("the module is loaded, or there is no hardware for it"))
    line = next((line for line in kernel.messages if any(word in line for word in _REJECTED[:2])), None)
    if line or (kernel.secure_boot and kernel.built and not kernel.blacklists):
        return problem("rejected", line or tr("Secure Boot is on, the module exists but is not loaded"))
    return ok(tr("Secure Boot is off, or there is no module to reject"))


@check("D20")  # a new kernel for which the driver's module was not built
def dkms_build(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the module in /lib/modules of the running kernel, and of others."""
    kernel = findings.kernel
    if not lacks_module(findings) or kernel.built is None:
        return skipped(tr("the module is loaded, or there is no hardware for it"))
    if kernel.built or not kernel.built_for:
        return ok(tr("no other kernel has a module that this one is missing"))
    others = ", ".join(kernel.built_for)
    read = tr(
        "kernel {release} has no nvidia module, but {others} has", release=kernel.release, others=others
    )
    return problem("not-built", read, release=kernel.release, others=others)


@check("D19")  # another driver has the GPU, or NVIDIA's is kept out
def nouveau(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look which driver is bound to the GPU, and for files that keep nvidia's out."""
    if not lacks_module(findings):
        return skipped(tr("the module is loaded, or there is no hardware for it"))
    bound = {device.driver for device in subject.nvidia_devices(findings)} - {None, "nvidia"}
    if "nouveau" in bound or "nouveau" in findings.kernel.modules:
        return problem("nouveau", tr("nouveau uses the GPU"))
    if any((name or "").startswith("vfio") for name in bound):
        return problem("vfio", tr("vfio-pci uses the GPU"))
    if findings.kernel.blacklists:
        return problem("blacklist", findings.kernel.blacklists[0], file=findings.kernel.blacklists[0])
    return ok(tr("no other driver has the GPU"))


def lacks_module(findings: Findings) -> bool:
    """Tell whether there is hardware on this Linux whose kernel module is not loaded."""
    if not subject.is_posix_linux(findings) or findings.kernel.nvidia is not None:
        return False
    if findings.machine.gpus or lacks_nodes(findings):
        return False
    return bool(subject.nvidia_devices(findings)) or subject.has_problem(findings, "driver-not-loaded")


@check("D04")  # the driver's kernel module is not loaded, or the driver does not answer
def kernel_modules(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the module is loaded, and what detect says is wrong with the driver."""
    kernel = findings.kernel
    if lacks_module(findings) and kernel.libraries:
        return problem("not-loaded", tr("no /proc/driver/nvidia, but {path}", path=kernel.libraries[0]))
    broken = subject.broken_driver(findings)
    message = next((text for code, text in broken if code not in _OWN_CHECKS and code != "no-driver"), None)
    system = findings.machine.system
    if message and not system.wsl and not is_without_gpu(findings):
        return problem("broken", subject.without_repair(message), message=message)
    driver = findings.machine.driver
    if driver is None:
        return skipped(tr("there is no driver"))
    return ok(tr("driver {version}", version=driver.version))
