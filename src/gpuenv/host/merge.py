"""Join the readings of all sources to a driver and GPUs, each fact with its source; pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from gpuenv.knowledge.knowledge import Knowledge
    from gpuenv.knowledge.records import DriverOs
from gpuenv.host import problems
from gpuenv.host.nvidia.hardware import Hardware
from gpuenv.host.nvidia.reading import GpuReading, SourceReading
from gpuenv.host.nvidia.visible_devices import VARIABLE, parse_visible
from gpuenv.host.pci import SOURCE as PCI_SOURCE
from gpuenv.i18n.messages import tr
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import Driver, Gpu, Problem

Facts = tuple[tuple[str, str], ...]
KnowledgeSource = Callable[[], "Knowledge"]

# `GRID V100D-8Q`, `NVIDIA A40-48Q`, `NVIDIA A100-1-5CME`: the vGPU type ends in its size and its licence.
_VGPU = re.compile(r"(?:GRID|NVIDIA|Tesla) .*-\d{1,3}(?:[ABCQ]|C?ME)")


class Joined(Struct, frozen=True):
    """The driver and the GPUs of a machine, the source of each fact, and problems."""

    driver: Driver | None
    gpus: tuple[Gpu, ...]
    facts: Facts
    problems: tuple[Problem, ...]


def join(
    hardware: Hardware,
    knowledge: KnowledgeSource,
    driver_os: DriverOs,
    visible: str | None,
) -> Joined:
    """Join the sources; `visible` is the value of CUDA_VISIBLE_DEVICES, `driver_os` that of the driver."""
    driver, driver_facts = _join_driver(hardware, knowledge, driver_os)
    readings = hardware.main.gpus if hardware.main else ()
    joined = [_join_gpu(reading, hardware, knowledge) for reading in readings if _is_usable(reading)]
    gpus = tuple(gpu.gpu for gpu in joined)
    shown = parse_visible(visible, gpus)
    gpus = tuple(replace(gpu, visible=gpu.index in shown) for gpu in gpus)
    source = hardware.main.source if hardware.main else hardware.searched
    facts = (*driver_facts, ("gpus", source), *(fact for gpu in joined for fact in gpu.facts))
    if visible is not None and gpus:
        facts += tuple((f"gpus.{gpu.index}.visible", VARIABLE) for gpu in gpus)
    result = _problems(hardware, knowledge, joined, gpus, visible)
    if gpus and driver is None:
        result += (problems.driver_unknown(),)
    if result:
        facts += (("problems", hardware.searched),)
    return Joined(driver, gpus, facts, result)


def _join_driver(
    hardware: Hardware, knowledge: KnowledgeSource, driver_os: DriverOs
) -> tuple[Driver | None, Facts]:
    """Return the driver of the first source that has it, with the CUDA of any, else of its branch."""
    readings = [reading for reading in (hardware.main, hardware.nvml, hardware.proc) if reading]
    first = next((reading for reading in readings if reading.driver), None)
    if first is None or first.driver is None:
        return None, ()
    shown = next((reading for reading in readings if reading.cuda), None)
    if shown:
        cuda, source = shown.cuda, shown.source
    else:
        cuda = knowledge().driver_cuda(first.driver, driver_os)
        source = tr("matrix: driver branch {branch}", branch=first.driver.major)
    facts: Facts = (("driver.version", first.source), *((("driver.cuda", source),) if cuda else ()))
    return Driver(first.driver, cuda), facts


def _is_usable(reading: GpuReading) -> bool:
    """Tell whether a GPU is not lost, and more than errors is known of it."""
    known = (reading.name, reading.compute_capability, reading.pci_id, reading.uuid)
    return "gpu-lost" not in reading.states and any(value is not None for value in known)


class _JoinedGpu(Struct, frozen=True):
    gpu: Gpu
    facts: Facts
    ambiguous: bool


def _join_gpu(reading: GpuReading, hardware: Hardware, knowledge: KnowledgeSource) -> _JoinedGpu:
    source = hardware.main.source if hardware.main else hardware.searched
    pci_source = source
    if reading.bus_id and not reading.pci_id:
        pci_ids = (gpu.pci_id for gpu in hardware.pci if gpu.bus_id == reading.bus_id)
        reading, pci_source = replace(reading, pci_id=next(pci_ids, None)), PCI_SOURCE
    capability, capability_source, ambiguous = _capability(reading, hardware.nvml, knowledge, source)
    gpu = Gpu(
        index=reading.index or 0,
        name=reading.name,
        compute_capability=capability,
        memory_mib=reading.memory_mib,
        uuid=reading.uuid,
        pci_id=reading.pci_id,
        mig=reading.mig,
    )
    fields = ("name", "compute_capability", "memory_mib", "uuid", "pci_id", "mig")
    sources = dict.fromkeys(fields, source)
    sources |= {"compute_capability": capability_source, "pci_id": pci_source}
    known = (field for field in fields if getattr(gpu, field) is not None)
    facts = tuple((f"gpus.{gpu.index}.{field}", sources[field]) for field in known)
    return _JoinedGpu(gpu, facts, ambiguous)


def _capability(
    gpu: GpuReading, nvml: SourceReading | None, knowledge: KnowledgeSource, source: str
) -> tuple[ComputeCapability | None, str, bool]:
    """Return the capability of the driver, else of the matrix; its source; whether the name is ambiguous."""
    if gpu.compute_capability:
        return gpu.compute_capability, source, False
    twin = _same_gpu(gpu, nvml)
    if twin and twin.compute_capability and nvml:
        return twin.compute_capability, nvml.source, False
    by_name = knowledge().gpu_names.find(gpu.name) if gpu.name else None
    if by_name and not by_name.ambiguous:
        return by_name.capability, tr("matrix: product name `{name}`", name=by_name.name), False
    by_pci = knowledge().capability_by_pci(gpu.pci_id) if gpu.pci_id else None
    if by_pci:
        return by_pci.capability, tr("matrix: PCI id `{pci_id}`", pci_id=gpu.pci_id), False
    return None, "", by_name is not None


def _same_gpu(gpu: GpuReading, nvml: SourceReading | None) -> GpuReading | None:
    """Find the same GPU in NVML's reading: by UUID, else by index and name."""
    candidates = nvml.gpus if nvml else ()
    if gpu.uuid:
        return next((other for other in candidates if other.uuid == gpu.uuid), None)
    return next((other for other in candidates if (other.index, other.name) == (gpu.index, gpu.name)), None)


def _problems(
    hardware: Hardware,
    knowledge: KnowledgeSource,
    joined: list[_JoinedGpu],
    gpus: tuple[Gpu, ...],
    visible: str | None,
) -> tuple[Problem, ...]:
    result = [*hardware.problems]
    if hardware.is_without_driver:
        result.append(_no_driver(hardware, knowledge))
    for reading in hardware.main.gpus if hardware.main else ():
        if "gpu-lost" in reading.states:
            result.append(problems.lost(reading))
        elif "gpu-error" in reading.states:
            result.append(problems.answers_with_errors(reading))
    for entry in joined:
        virtual = bool(_VGPU.fullmatch(entry.gpu.name or ""))
        result.extend(problems.about_gpu(entry.gpu, virtual=virtual, ambiguous=entry.ambiguous))
    hidden = [gpu for gpu in gpus if not gpu.visible]
    if hidden:
        result.append(problems.hidden(hidden, visible or ""))
    return tuple(dict.fromkeys(result))


def _no_driver(hardware: Hardware, knowledge: KnowledgeSource) -> Problem:
    facts = ((gpu, knowledge().capability_by_pci(gpu.pci_id)) for gpu in hardware.pci)
    names = [
        fact.name if fact else tr("an NVIDIA GPU (PCI id {pci_id})", pci_id=gpu.pci_id) for gpu, fact in facts
    ]
    bound = (gpu.driver for gpu in hardware.pci if gpu.driver and gpu.driver != "nvidia")
    return problems.no_driver(names, bound)
