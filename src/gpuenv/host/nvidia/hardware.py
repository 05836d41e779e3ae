"""Query the sources of NVIDIA hardware in order, as few as needed, and report problems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.host import problems
from gpuenv.host.executables import FileTree, is_there
from gpuenv.host.nvidia.nvml import read_nvml
from gpuenv.host.nvidia.pci import PciGpu, nvidia_of
from gpuenv.host.nvidia.proc_driver import read_proc_driver
from gpuenv.host.nvidia.reading import SourceReading
from gpuenv.host.nvidia.smi import (
    Answered,
    Missing,
    NvidiaSmi,
    SmiAnswer,
    SmiFailure,
    TimedOut,
    ask_nvidia_smi,
)
from gpuenv.host.nvidia.smi_messages import Complaint
from gpuenv.host.pci import NVIDIA, BusDevice, read_devices
from gpuenv.model.machine import Problem, System

_CONTROL_DEVICE = "dev/nvidiactl"
_WSL_DEVICE = "dev/dxg"
_WSL_DRIVERS = "usr/lib/wsl/drivers"
_ROCM_OF_WSL = tuple(f"{folder}/librocdxg.so" for folder in ("opt/rocm/lib", "usr/lib", "usr/local/lib"))

ReadNvml = Callable[[], SourceReading | Complaint | None]


class Hardware(Struct, frozen=True):
    """Readings: `main` has the GPUs, `proc` the driver, `nvml` what `main` lacks; `searched` names all."""

    main: SourceReading | None
    nvml: SourceReading | None
    proc: SourceReading | None
    pci: tuple[PciGpu, ...]
    problems: tuple[Problem, ...]
    searched: str
    others: tuple[BusDevice, ...] = ()  # of other vendors

    @property
    def is_without_driver(self) -> bool:
        """Whether there are GPUs on the bus, but no sign of NVIDIA's driver."""
        return bool(self.pci) and self.main is None and self.proc is None and not self.problems


def find_hardware(smi: NvidiaSmi | None, root: Path, system: System, timeout_s: float) -> Hardware:
    """Find the driver and the GPUs: by nvidia-smi, NVML, /proc, and the PCI bus."""
    return hardware_of(ask_nvidia_smi(smi, timeout_s), root, system, read_nvml)


def hardware_of(answer: SmiAnswer, root: FileTree, system: System, read_nvml: ReadNvml) -> Hardware:
    """Return the hardware by nvidia-smi's answer and the other sources."""
    devices = read_devices(root)
    hardware = _nvidia_hardware(answer, root, system, nvidia_of(devices), read_nvml)
    others = tuple(device for device in devices if device.vendor != NVIDIA)
    return replace(hardware, others=others) if others else hardware


def _nvidia_hardware(
    answer: SmiAnswer, root: FileTree, system: System, pci: tuple[PciGpu, ...], read_nvml: ReadNvml
) -> Hardware:
    proc = read_proc_driver(root)
    if isinstance(answer, Missing):
        return _without_nvidia_smi(root, system, proc, pci, read_nvml)
    main = answer.reading if isinstance(answer, Answered) else None
    open_fields = main is not None and any(gpu.compute_capability is None for gpu in main.gpus)
    nvml = read_nvml() if open_fields else None
    reading = nvml if isinstance(nvml, SourceReading) else None
    return Hardware(main, reading, proc, pci, _problems_of(answer), "nvidia-smi")


def _problems_of(answer: SmiAnswer) -> tuple[Problem, ...]:
    match answer:
        case TimedOut(after_s):
            return (problems.timed_out(after_s),)
        case SmiFailure(complaint):
            return (problems.complained(complaint),)
        case Answered(reading, complaints):
            reported = tuple(map(problems.complained, complaints))
            unread = (problems.unread_lines(reading.unread),) if reading.unread else ()
            nothing = () if reading.gpus or reported else (problems.no_devices(),)
            return reported + unread + nothing
        case Missing():
            return ()


def _without_nvidia_smi(
    root: FileTree, system: System, proc: SourceReading | None, pci: tuple[PciGpu, ...], read_nvml: ReadNvml
) -> Hardware:
    traces = proc is not None or _has_traces(root, system)
    nvml = read_nvml() if traces or pci or system.os == "windows" else None
    searched = "nvidia-smi (not found), /proc/driver/nvidia, /sys/bus/pci"
    if isinstance(nvml, SourceReading):
        nothing = () if nvml.gpus else (problems.no_devices(),)
        return Hardware(nvml, None, proc, pci, nothing, nvml.source)
    result = _problems_without_tools(root, system, proc, traces=traces, nvml=nvml)
    main = proc if proc is not None and proc.gpus else None
    return Hardware(main, None, proc, pci, result, searched)


def _problems_without_tools(
    root: FileTree, system: System, proc: SourceReading | None, *, traces: bool, nvml: Complaint | None
) -> tuple[Problem, ...]:
    if nvml is not None and nvml.code != "driver-not-loaded":
        return (problems.complained(nvml, "NVML"),)
    if proc is not None and proc.gpus and is_there(root / _CONTROL_DEVICE):
        return ()  # the kernel module reports all that a plan needs
    if proc is not None and not system.container:
        return (problems.nvidia_smi_missing(system) if proc.gpus else problems.no_devices(),)
    return (problems.nvidia_smi_missing(system),) if traces else ()


def _has_traces(root: FileTree, system: System) -> bool:
    """Tell whether there are the device files of a driver, or under WSL2, an NVIDIA driver of Windows."""
    if is_there(root / _CONTROL_DEVICE) or is_there(root / "dev/nvidia0"):
        return True
    if not (system.wsl and is_there(root / _WSL_DEVICE)):
        return False
    try:  # display drivers of all vendors, NVIDIA's as `nv_dispi.inf_amd64_...`
        return any(entry.name.startswith("nv") for entry in (root / _WSL_DRIVERS).iterdir())
    except OSError:  # unknown: a problem is better than a silent CPU build
        return not any(is_there(root / place) for place in _ROCM_OF_WSL)
