"""Ask the sources for NVIDIA hardware in their order, as few as needed, and name the state they show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuenv.host import problems
from gpuenv.host.executables import FileTree, is_there
from gpuenv.host.nvidia.nvml import read_nvml
from gpuenv.host.nvidia.pci import PciGpu, read_pci
from gpuenv.host.nvidia.proc_driver import read_proc_driver
from gpuenv.host.nvidia.reading import SourceReading
from gpuenv.host.nvidia.smi import Answered, Missing, SmiAnswer, SmiFailure, TimedOut, ask_nvidia_smi
from gpuenv.host.nvidia.smi_messages import Complaint
from gpuenv.model.machine import Problem, System

_CONTROL_DEVICE = "dev/nvidiactl"
_WSL_DEVICE = "dev/dxg"
_WSL_DRIVERS = "usr/lib/wsl/drivers"

ReadNvml = Callable[[], SourceReading | Complaint | None]


@dataclass(frozen=True, slots=True)
class Hardware:
    """What was found: `main` tells the GPUs, `proc` the driver besides, `nvml` what `main` left open.

    `searched` names the sources that were asked, for a machine on which nothing was found.
    """

    main: SourceReading | None
    nvml: SourceReading | None
    proc: SourceReading | None
    pci: tuple[PciGpu, ...]
    problems: tuple[Problem, ...]
    searched: str

    @property
    def is_without_driver(self) -> bool:
        """Whether GPUs are on the bus that no driver of NVIDIA's has shown in any way."""
        return bool(self.pci) and self.main is None and self.proc is None and not self.problems


def find_hardware(environ: Mapping[str, str], root: Path, system: System, timeout_s: float) -> Hardware:
    """Find the driver and the GPUs: nvidia-smi, then NVML, then /proc; the bus tells what has no driver."""
    return hardware_of(ask_nvidia_smi(environ, root, timeout_s), root, system, read_nvml)


def hardware_of(answer: SmiAnswer, root: FileTree, system: System, read_nvml: ReadNvml) -> Hardware:
    """Return the hardware that nvidia-smi answered for, or of which something else tells."""
    proc, pci = read_proc_driver(root), read_pci(root)
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
            said = tuple(problems.complained(complaint) for complaint in complaints)
            unread = (problems.unread_lines(reading.unread),) if reading.unread else ()
            nothing = () if reading.gpus or said else (problems.no_devices(),)
            return said + unread + nothing
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
        return ()  # the kernel module tells all that a plan needs
    if proc is not None and not system.container:
        return (problems.nvidia_smi_missing(system) if proc.gpus else problems.no_devices(),)
    return (problems.nvidia_smi_missing(system),) if traces else ()


def _has_traces(root: FileTree, system: System) -> bool:
    """Tell whether a driver left device files, or, under WSL2, whether Windows has an NVIDIA driver."""
    if is_there(root / _CONTROL_DEVICE) or is_there(root / "dev/nvidia0"):
        return True
    return system.wsl and is_there(root / _WSL_DEVICE) and _windows_has_nvidia(root / _WSL_DRIVERS)


def _windows_has_nvidia(drivers: FileTree) -> bool:
    """WSL2 shows Windows' display drivers of all makers, NVIDIA's as `nv_dispi.inf_amd64_...`."""
    try:
        names = [entry.name for entry in drivers.iterdir()]
    except OSError:
        return True  # not told: better a question too many than a CPU build in silence
    return any(name.startswith("nv") for name in names)
