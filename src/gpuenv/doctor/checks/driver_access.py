"""Checks of the driver: its libraries, devices and services."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.container import lacks_nodes
from gpuenv.doctor.checks.driver_modules import lacks_module
from gpuenv.doctor.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

_NVSWITCH = "0680"  # PCI class of an NVSwitch
_LOST_STATE = ("error 999", "unknown error", "cuda unknown error")


@check("D03")  # the driver's library is not there
def driver_library(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for libcuda.so where the loader looks."""
    libraries = findings.kernel.libraries
    if not subject.is_posix_linux(findings):
        return skipped(tr("the driver is the one of Windows"))
    if libraries:
        return ok(libraries[0])
    if lacks_module(findings):
        return problem("no-driver", tr("hardware, but neither module nor libcuda"))
    if subject.broken_driver(findings) or not findings.machine.gpus:
        return skipped(tr("no GPU responds"))
    return ok(tr("torch finds it")) if subject.proven(findings) else _sought(findings)


def _sought(findings: Findings) -> Outcome:
    words, read = subject.said(findings), tr("no libcuda.so.1 in the usual places")
    if "libcuda.so" in words or "no nvidia driver" in words:
        return problem("no-library", read)
    if not (findings.kernel.nvidia or subject.gpu_nodes(findings)):
        return skipped(tr("only `nvidia-smi` shows a driver"))
    return warning("no-library", read)


@check("D05")  # no device files, or none that this user may open
def device_nodes(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for /dev/nvidia0 and /dev/nvidiactl, and whether they may be opened."""
    if not subject.is_posix_linux(findings) or lacks_nodes(findings):
        return skipped(tr("no device files are expected here"))
    if findings.kernel.nvidia is None or lacks_module(findings):
        return skipped(tr("no NVIDIA kernel module is loaded"))
    nodes = subject.gpu_nodes(findings)
    if not nodes or not subject.has_node(findings, "nvidiactl"):
        missing = "/dev/nvidiactl" if nodes else "/dev/nvidia0"
        return (
            ok(tr("torch finds them"))
            if subject.proven(findings)
            else problem("missing", missing, node=missing)
        )
    closed = [
        node.path
        for node in findings.nodes
        if not node.usable and "/nvidia" in node.path and "cap" not in node.path
    ]
    closed = [path for path in closed if path in nodes or path.endswith(("nvidiactl", "nvidia-uvm"))]
    if closed and not subject.proven(findings):
        return problem("closed", " ".join(closed), node=closed[0])
    return ok(" ".join(nodes))


@check("D14")  # a libcuda that is not the driver's: a stub, or a compatibility package
def stray_libcuda(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for libcuda.so.1 in the directories that are searched before the driver's."""
    if not findings.driver_libraries:
        return ok(tr("no other libcuda comes before the driver's"))
    path, via = findings.driver_libraries[0]
    if subject.proven(findings):
        return ok(tr("{path}, and torch works with it", path=path))
    if "/stubs" in path:
        return problem("stub", path, path=path, via=via)
    if "compat" in path:
        data_centre = not any("GeForce" in (gpu.name or "") for gpu in findings.machine.gpus)
        make = warning if data_centre and not subject.failed(findings) else problem
        return make("compat", path, path=path, via=via)
    return warning("other", path, path=path, via=via) if findings.machine.gpus else skipped(path)


@check("D12")  # NVSwitch without its fabric manager
def fabric_manager(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for NVSwitches, and for the service that they need."""
    nodes = [node.path for node in findings.nodes if "nvidia-nvswitch" in node.path]
    bridges = [
        device
        for device in findings.pci
        if device.vendor == subject.NVIDIA and device.kind.startswith(_NVSWITCH)
    ]
    if not nodes and not bridges:
        return skipped(tr("there is no NVSwitch"))
    if findings.kernel.fabric_manager or subject.proven(findings):
        return ok(tr("the fabric manager is running, or not needed"))
    driver = findings.machine.driver
    facts = {"driver": driver.version if driver else "?"}
    if findings.kernel.fabric_manager is None:
        code_802 = "802" in subject.said(findings) or "system not yet initialized" in subject.said(findings)
        return (
            problem("not-running", "802", **facts)
            if code_802
            else skipped(tr("services are not visible here"))
        )
    make = problem if findings.proof is None or subject.failed(findings) else warning
    return make("not-running", tr("NVSwitch, but no nv-fabricmanager"), **facts)


@check("D11")  # CUDA's state was lost while the machine slept
def resume_after_suspend(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the machine has slept since it was started, and CUDA says `unknown error`."""
    if not findings.kernel.suspended:
        return skipped(tr("the machine has not been suspended since it was started"))
    read = tr("it was suspended {count} times", count=findings.kernel.suspended)
    if subject.failed(findings) and any(word in subject.said(findings) for word in _LOST_STATE):
        return problem("lost", read)
    return ok(read)


@check("D06")  # the module of unified memory is not there
def unified_memory(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for nvidia_uvm, loaded when CUDA first starts: only a failure makes its lack a problem."""
    if not subject.is_posix_linux(findings) or findings.machine.system.container or not findings.machine.gpus:
        return skipped(tr("this is not a machine with its own driver"))
    if subject.has_node(findings, "nvidia-uvm") and "nvidia_uvm" in findings.kernel.modules:
        return ok("/dev/nvidia-uvm")
    read = tr("nvidia_uvm is not loaded, or /dev/nvidia-uvm does not exist")
    if subject.proven(findings):
        return ok(tr("torch works without it"))
    if subject.failed(findings) and (
        "999" in subject.said(findings) or "unknown error" in subject.said(findings)
    ):
        return problem("missing", read)
    return warning("missing", read) if findings.kernel.modules else skipped(tr("the modules cannot be read"))


@check("D51")  # a build for AMD's GPUs
def amd(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether a ROCm build finds /dev/kfd, may open it, and is not on NVIDIA hardware."""
    variant = subject.variant_of(findings)
    if variant is None or not variant.name.startswith("rocm"):
        return skipped(tr("torch is not a ROCm build"))
    torch = subject.torch_label(findings)
    if findings.machine.gpus and not any(device.vendor == subject.AMD for device in findings.pci):
        return problem("nvidia", variant.name, torch=torch)
    node = next((node for node in findings.nodes if node.path.endswith("/kfd")), None)
    if node is None:
        return problem("no-device", tr("there is no /dev/kfd"), torch=torch)
    return ok(node.path) if node.usable else problem("closed", node.path, node=node.path)
