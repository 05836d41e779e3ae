"""Query NVML, the driver's library, where nvidia-smi is missing or incomplete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gpuenv.host.nvidia.reading import (
    GpuReading,
    SourceReading,
    parse_bus_id,
    parse_driver_version,
    parse_uuid,
)
from gpuenv.host.nvidia.smi_messages import Complaint, field_state, parse_complaint, quote
from gpuenv.i18n.messages import tr
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.variant import CudaVersion

SOURCE = "NVML"
_NVIDIA = 0x10DE
_MIB = 1024 * 1024
_T = TypeVar("_T")


def read_nvml() -> SourceReading | Complaint | None:
    """Read NVML, which has no time limit; return a Complaint for a driver's error, None without NVML."""
    try:
        import pynvml  # noqa: PLC0415 - slow to import and seldom needed
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        try:
            return _read(pynvml)
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        text = str(error)
    known = parse_complaint(text)
    if known or "not found" in text.casefold():  # NVML Shared Library Not Found
        return known
    return Complaint(quote(text), "nvidia-smi-failed", None)


def _read(nvml: Any) -> SourceReading:
    gpus = tuple(_read_gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount()))
    driver = _optional(nvml, lambda: parse_driver_version(_text(nvml.nvmlSystemGetDriverVersion())))
    cuda = _optional(nvml, lambda: parse_cuda_number(nvml.nvmlSystemGetCudaDriverVersion_v2()))
    return SourceReading(SOURCE, driver=driver, cuda=cuda, gpus=gpus)


def _read_gpu(nvml: Any, index: int) -> GpuReading:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        return GpuReading(index=index, states=(field_state(str(error)) or "gpu-error",))
    pci = _optional(nvml, lambda: nvml.nvmlDeviceGetPciInfo(handle))
    mig = _optional(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle))
    return GpuReading(
        index=index,
        name=_optional(nvml, lambda: _text(nvml.nvmlDeviceGetName(handle))),
        compute_capability=_optional(
            nvml, lambda: ComputeCapability(*nvml.nvmlDeviceGetCudaComputeCapability(handle))
        ),
        memory_mib=_optional(nvml, lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total) // _MIB),
        uuid=_optional(nvml, lambda: parse_uuid(_text(nvml.nvmlDeviceGetUUID(handle)))),
        bus_id=_optional(nvml, lambda: parse_bus_id(_text(pci.busId))) if pci else None,
        pci_id=parse_pci_number(pci.pciDeviceId) if pci else None,
        mig=bool(mig[0]) if mig else None,
    )


def _optional(nvml: Any, ask: Callable[[], _T]) -> _T | None:
    """Query one value; None where the driver or the GPU does not support it."""
    try:
        return ask()
    except (nvml.NVMLError, ValueError):
        return None


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value


def parse_cuda_number(number: int) -> CudaVersion:
    """Parse NVML's CUDA version: 12020 is 12.2; raise ValueError."""
    if number < 1000:  # noqa: PLR2004 - NVML writes 1000 * major + 10 * minor
        raise ValueError(tr("`{number}` is not a valid CUDA version (example: 12020)", number=number))
    return CudaVersion(number // 1000, number % 1000 // 10)


def parse_pci_number(number: int) -> str | None:
    """Parse NVML's PCI id, device and vendor: 0x220810DE is `2208`; None for other vendors."""
    return f"{number >> 16:04x}" if number & 0xFFFF == _NVIDIA and number >> 16 <= 0xFFFF else None  # noqa: PLR2004
