"""Checks of the driver: its kernel modules, libraries, devices and services."""

from __future__ import annotations

import re

from gpuenv.checks import queries
from gpuenv.checks.container import is_without_gpu, lacks_nodes
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

_MODULE_VERSION = re.compile(r"\s(\d{3,4}(?:\.\d{1,4}){1,2})\s")
_LIBRARY_VERSION = re.compile(r"libcuda\.so\.(\d{3,4}(?:\.\d{1,4}){1,2})")
_NVML_VERSION = re.compile(r"NVML library version: (\d{3,4}(?:\.\d{1,4}){1,2})")  # of nvidia-smi itself
_NEEDS_OPEN = "requires use of the NVIDIA open kernel modules"
_NEEDS_CLOSED = "not supported by open"
_REJECTED = ("Key was rejected by service", "unsigned module", "module verification failed")
_OWN_CHECKS = frozenset({"driver-mismatch", "no-devices", "gpu-lost", "gpu-error"})
_NVSWITCH = "0680"  # PCI class of an NVSwitch
_LOST_STATE = ("error 999", "unknown error", "cuda unknown error")


@check("D13")  # the kernel module and the library are of different drivers
def driver_mismatch(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the version of the loaded module with those of the driver's library."""
    if not queries.is_posix_linux(findings):
        return skipped(tr("the driver is the one of Windows"))
    loaded = _MODULE_VERSION.search((findings.kernel.nvidia or "") + " ")
    module = loaded[1] if loaded else None
    matches = map(_LIBRARY_VERSION.search, findings.kernel.libraries)
    files = tuple(match[1] for match in matches if match)
    differ = bool(module and files) and module not in files
    if queries.has_problem(findings, "driver-mismatch"):
        match = _NVML_VERSION.search(queries.message_of(findings, "driver-mismatch"))
        return _mismatch(module, match[1] if match else " ".join(files))
    if differ and not queries.proven(findings):
        return _mismatch(module, " ".join(files))
    if module is None or not files:
        return skipped(tr("one of the versions is not known"))
    return ok(tr("module {module}, library {files}", module=module, files=" ".join(files)))


def _mismatch(module: str | None, library: str) -> Outcome:
    unknown = tr("of another version") if module or library else "?"
    facts = {"module": module or unknown, "library": library or unknown}
    read = tr("module {module}, library {files}", module=module or "?", files=library or "?")
    return problem("mismatch", read, **facts)


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
    if not findings.machine.gpus and queries.nvidia_devices(findings) and is_open:
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
    others = series(kernel.built_for)
    facts = {"release": kernel.release, "others": others}
    return problem(
        "not-built", tr("kernel {release} has no nvidia module, but {others} has", **facts), **facts
    )


@check("D19")  # another driver has the GPU, or NVIDIA's is kept out
def nouveau(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look which driver is bound to the GPU, and for files that keep nvidia's out."""
    if not lacks_module(findings):
        return skipped(tr("the module is loaded, or there is no hardware for it"))
    bound = {device.driver for device in queries.nvidia_devices(findings)} - {None, "nvidia"}
    if "nouveau" in bound or "nouveau" in findings.kernel.modules:
        return problem("nouveau", tr("nouveau uses the GPU"))
    if any((name or "").startswith("vfio") for name in bound):
        return problem("vfio", tr("vfio-pci uses the GPU"))
    if findings.kernel.blacklists:
        return problem("blacklist", findings.kernel.blacklists[0], file=findings.kernel.blacklists[0])
    return ok(tr("no other driver has the GPU"))


def lacks_module(findings: Findings) -> bool:
    """Tell whether there is hardware on this Linux whose kernel module is not loaded."""
    if not queries.is_posix_linux(findings) or findings.kernel.nvidia is not None:
        return False
    if findings.machine.gpus or lacks_nodes(findings):
        return False
    return bool(queries.nvidia_devices(findings)) or queries.has_problem(findings, "driver-not-loaded")


@check("D04")  # the driver's kernel module is not loaded, or the driver does not answer
def kernel_modules(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the module is loaded, and what detect says is wrong with the driver."""
    kernel = findings.kernel
    if lacks_module(findings) and kernel.libraries:
        return problem("not-loaded", tr("no /proc/driver/nvidia, but {path}", path=kernel.libraries[0]))
    broken = queries.broken_driver(findings)
    message = next((text for code, text in broken if code not in _OWN_CHECKS and code != "no-driver"), None)
    system = findings.machine.system
    if message and not system.wsl and not is_without_gpu(findings):
        return problem("broken", queries.without_repair(message), message=message)
    driver = findings.machine.driver
    if driver is None:
        return skipped(tr("there is no driver"))
    return ok(tr("driver {version}", version=driver.version))


@check("D03")  # the driver's library is not there
def driver_library(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for libcuda.so where the loader looks."""
    libraries = findings.kernel.libraries
    if not queries.is_posix_linux(findings):
        return skipped(tr("the driver is the one of Windows"))
    if libraries:
        return ok(libraries[0])
    if lacks_module(findings):
        return problem("no-driver", tr("hardware, but neither module nor libcuda"))
    if queries.broken_driver(findings) or not findings.machine.gpus:
        return skipped(tr("no GPU responds"))
    return ok(tr("torch finds it")) if queries.proven(findings) else _sought(findings)


def _sought(findings: Findings) -> Outcome:
    words, read = queries.said(findings), tr("no libcuda.so.1 in the usual places")
    if "libcuda.so" in words or "no nvidia driver" in words:
        return problem("no-library", read)
    if not (findings.kernel.nvidia or queries.gpu_nodes(findings)):
        return skipped(tr("only `nvidia-smi` shows a driver"))
    return warning("no-library", read)


@check("D05")  # no device files, or none that this user may open
def device_nodes(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for /dev/nvidia0 and /dev/nvidiactl, and whether they may be opened."""
    if not queries.is_posix_linux(findings) or lacks_nodes(findings):
        return skipped(tr("no device files are expected here"))
    if findings.kernel.nvidia is None or lacks_module(findings):
        return skipped(tr("no NVIDIA kernel module is loaded"))
    nodes = queries.gpu_nodes(findings)
    if not nodes or not queries.has_node(findings, "nvidiactl"):
        if queries.proven(findings):
            return ok(tr("torch finds them"))
        missing = "/dev/nvidiactl" if nodes else "/dev/nvidia0"
        return problem("missing", missing, node=missing)
    closed = [node.path for node in findings.nodes if not node.usable and "/nvidia" in node.path]
    closed = [path for path in closed if path in nodes or path.endswith(("nvidiactl", "nvidia-uvm"))]
    closed = [path for path in closed if "cap" not in path]
    if closed and not queries.proven(findings):
        return problem("closed", " ".join(closed), node=closed[0])
    return ok(" ".join(nodes))


@check("D14")  # a libcuda that is not the driver's: a stub, or a compatibility package
def stray_libcuda(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for libcuda.so.1 in the directories that are searched before the driver's."""
    if not findings.driver_libraries:
        return ok(tr("no other libcuda comes before the driver's"))
    path, via = findings.driver_libraries[0]
    if queries.proven(findings):
        return ok(tr("{path}, and torch works with it", path=path))
    if "/stubs" in path:
        return problem("stub", path, path=path, via=via)
    if "compat" in path:
        data_centre = not any("GeForce" in (gpu.name or "") for gpu in findings.machine.gpus)
        make = warning if data_centre and not queries.failed(findings) else problem
        return make("compat", path, path=path, via=via)
    return warning("other", path, path=path, via=via) if findings.machine.gpus else skipped(path)


@check("D12")  # NVSwitch without its fabric manager
def fabric_manager(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for NVSwitches, and for the service that they need."""
    nodes = [node.path for node in findings.nodes if "nvidia-nvswitch" in node.path]
    own = (device for device in findings.pci if device.vendor == queries.NVIDIA)
    if not nodes and not any(device.kind.startswith(_NVSWITCH) for device in own):
        return skipped(tr("there is no NVSwitch"))
    if findings.kernel.fabric_manager or queries.proven(findings):
        return ok(tr("the fabric manager is running, or not needed"))
    driver = findings.machine.driver
    facts = {"driver": driver.version if driver else "?"}
    if findings.kernel.fabric_manager is None:
        words = queries.said(findings)
        if "802" in words or "system not yet initialized" in words:
            return problem("not-running", "802", **facts)
        return skipped(tr("services are not visible here"))
    make = problem if findings.proof is None or queries.failed(findings) else warning
    return make("not-running", tr("NVSwitch, but no nv-fabricmanager"), **facts)


@check("D11")  # CUDA's state was lost while the machine slept
def resume_after_suspend(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the machine has slept since it was started, and CUDA says `unknown error`."""
    if not findings.kernel.suspended:
        return skipped(tr("the machine has not been suspended since it was started"))
    read = tr("it was suspended {count} times", count=findings.kernel.suspended)
    if queries.failed(findings) and any(word in queries.said(findings) for word in _LOST_STATE):
        return problem("lost", read)
    return ok(read)


@check("D06")  # the module of unified memory is not there
def unified_memory(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for nvidia_uvm, loaded when CUDA first starts: only a failure makes its lack a problem."""
    if not queries.is_posix_linux(findings) or findings.machine.system.container or not findings.machine.gpus:
        return skipped(tr("this is not a machine with its own driver"))
    if queries.has_node(findings, "nvidia-uvm") and "nvidia_uvm" in findings.kernel.modules:
        return ok("/dev/nvidia-uvm")
    read = tr("nvidia_uvm is not loaded, or /dev/nvidia-uvm does not exist")
    if queries.proven(findings):
        return ok(tr("torch works without it"))
    words = queries.said(findings)
    if queries.failed(findings) and ("999" in words or "unknown error" in words):
        return problem("missing", read)
    return warning("missing", read) if findings.kernel.modules else skipped(tr("the modules cannot be read"))


@check("D51")  # a build for AMD's GPUs
def amd(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether a ROCm build finds its device, may open it, and is not on NVIDIA hardware.

    The device is /dev/kfd, under WSL2 /dev/dxg; Windows has none.
    """
    variant = queries.variant_of(findings)
    if variant is None or not variant.name.startswith("rocm"):
        return skipped(tr("torch is not a ROCm build"))
    torch = queries.torch_label(findings)
    cards = [item.name or item.vendor for item in findings.machine.accelerators if item.kind == "rocm"]
    on_bus = any(device.vendor == queries.AMD for device in findings.pci)
    if findings.machine.gpus and not (cards or on_bus):
        return problem("nvidia", variant.name, torch=torch)
    system = findings.machine.system
    if system.os == "windows":
        return ok(series(cards)) if cards else skipped(tr("Windows shows no AMD GPU"))
    if system.wsl:
        there = queries.has_node(findings, "dxg")
        return ok("/dev/dxg") if there else problem("no-dxg", tr("there is no /dev/dxg"), torch=torch)
    node = next((node for node in findings.nodes if node.path.endswith("/kfd")), None)
    if node is None:
        return problem("no-device", tr("there is no /dev/kfd"), torch=torch)
    return ok(node.path) if node.usable else problem("closed", node.path, node=node.path)
