"""Join what the sources told to a driver and GPUs, each fact with its source; pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuenv.knowledge.knowledge import Knowledge
    from gpuenv.knowledge.records import DriverOs
from gpuenv.host import problems
from gpuenv.host.nvidia.hardware import Hardware
from gpuenv.host.nvidia.pci import SOURCE as PCI_SOURCE
from gpuenv.host.nvidia.reading import GpuReading, SourceReading
from gpuenv.host.nvidia.visible_devices import VARIABLE, parse_visible
from gpuenv.i18n.messages import tr
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import Driver, Gpu, Problem

Facts = tuple[tuple[str, str], ...]
KnowledgeSource = Callable[[], "Knowledge"]

# `GRID V100D-8Q`, `NVIDIA A40-48Q`, `NVIDIA A100-1-5CME`: the vGPU type ends in its size and its licence.
_VGPU = re.compile(r"(?:GRID|NVIDIA|Tesla) .*-\d{1,3}(?:[ABCQ]|C?ME)")


@dataclass(frozen=True, slots=True)
class Joined:
    """The driver and the GPUs of a machine, where each fact was read, and what is wrong with them."""

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
    """Join the sources; `visible` is the value of CUDA_VISIBLE_DEVICES, `driver_os` whose driver it is."""
    driver, driver_facts = _join_driver(hardware, knowledge, driver_os)
    readings = hardware.main.gpus if hardware.main else ()
    joined = [_join_gpu(reading, hardware, knowledge) for reading in readings if _is_usable(reading)]
    gpus = _with_visibility(tuple(gpu.gpu for gpu in joined), visible)
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
    """Take the first source that tells the driver; its CUDA from any, else from the driver's branch."""
    readings = [reading for reading in (hardware.main, hardware.nvml, hardware.proc) if reading]
    first = next((reading for reading in readings if reading.driver), None)
    if first is None or first.driver is None:
        return None, ()
    facts: Facts = (("driver.version", first.source),)
    shown = next((reading for reading in readings if reading.cuda), None)
    if shown:
        return Driver(first.driver, shown.cuda), (*facts, ("driver.cuda", shown.source))
    cuda = knowledge().driver_cuda(first.driver, driver_os)
    branch = (
        (("driver.cuda", tr("matrix: driver branch {branch}", branch=first.driver.major)),) if cuda else ()
    )
    return Driver(first.driver, cuda), facts + branch


def _is_usable(reading: GpuReading) -> bool:
    """A lost GPU, or one of which only errors are known, is no GPU that a plan must work on."""
    known = (reading.name, reading.compute_capability, reading.pci_id, reading.uuid)
    return "gpu-lost" not in reading.states and any(value is not None for value in known)


@dataclass(frozen=True, slots=True)
class _One:
    gpu: Gpu
    facts: Facts
    ambiguous: bool


def _join_gpu(reading: GpuReading, hardware: Hardware, knowledge: KnowledgeSource) -> _One:
    source = hardware.main.source if hardware.main else hardware.searched
    index = reading.index or 0
    pci_id, pci_source = _pci_id(reading, hardware, source)
    whole = replace(reading, pci_id=pci_id)
    capability, capability_source, ambiguous = _capability(whole, hardware.nvml, knowledge, source)
    gpu = Gpu(
        index, reading.name, capability, reading.memory_mib, reading.uuid, pci_id, reading.mig
    )  # fmt: skip
    sources = {
        "name": source, "compute_capability": capability_source, "memory_mib": source,
        "uuid": source, "pci_id": pci_source, "mig": source,
    }  # fmt: skip
    facts = {field: origin for field, origin in sources.items() if getattr(gpu, field) is not None}
    return _One(gpu, tuple((f"gpus.{index}.{field}", origin) for field, origin in facts.items()), ambiguous)


def _pci_id(reading: GpuReading, hardware: Hardware, source: str) -> tuple[str | None, str]:
    if reading.pci_id or not reading.bus_id:
        return reading.pci_id, source
    return next((gpu.pci_id for gpu in hardware.pci if gpu.bus_id == reading.bus_id), None), PCI_SOURCE


def _capability(
    gpu: GpuReading, nvml: SourceReading | None, knowledge: KnowledgeSource, source: str
) -> tuple[ComputeCapability | None, str, bool]:
    """Take the capability from the driver, else from the matrix; at last, whether the name is ambiguous."""
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
    """Find the GPU in NVML's answer: by UUID, which never lies, else by index and name."""
    candidates = nvml.gpus if nvml else ()
    if gpu.uuid:
        return next((other for other in candidates if other.uuid == gpu.uuid), None)
    return next((other for other in candidates if (other.index, other.name) == (gpu.index, gpu.name)), None)


def _with_visibility(gpus: tuple[Gpu, ...], visible: str | None) -> tuple[Gpu, ...]:
    shown = parse_visible(visible, gpus)
    return tuple(replace(gpu, visible=gpu.index in shown) for gpu in gpus)


def _problems(
    hardware: Hardware,
    knowledge: KnowledgeSource,
    joined: list[_One],
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
