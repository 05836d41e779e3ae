"""The driver and GPUs according to one source, before the sources are joined."""

from __future__ import annotations

import re

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import DriverVersion
from gpuenv.model.variant import CudaVersion

_DRIVER = re.compile(r"\d{2,4}(\.\d{1,4}){1,3}")
_UUID = re.compile(r"GPU-[0-9a-zA-Z-]{1,64}")
_BUS_ID = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-9a-fA-F])")
_DEVICE_ID = re.compile(r"0[xX]([0-9a-fA-F]{4})10(?:[dD][eE])")


class GpuReading(Struct, frozen=True):
    """One GPU according to one source; `states` are problems, `whole` is false for a truncated name."""

    index: int | None = None
    name: str | None = None
    compute_capability: ComputeCapability | None = None
    memory_mib: int | None = None
    uuid: str | None = None
    bus_id: str | None = None
    pci_id: str | None = None
    mig: bool | None = None
    states: tuple[str, ...] = ()
    whole: bool = True


class SourceReading(Struct, frozen=True):
    """The reading of one source; `unread` counts lines that look like a GPU but are damaged."""

    source: str
    driver: DriverVersion | None = None
    cuda: CudaVersion | None = None
    gpus: tuple[GpuReading, ...] = ()
    unread: int = 0


def parse_driver_version(text: str) -> DriverVersion:
    """Parse `535.104.05`; raise ValueError for anything else."""
    if not _DRIVER.fullmatch(text.strip()) or not text.isascii():
        raise ValueError(tr("`{text}` is not a valid driver version (example: 535.104.05)", text=text))
    return DriverVersion(text)


def parse_uuid(text: str) -> str:
    """Check a GPU's UUID, `GPU-` and groups of hexadecimal digits; raise ValueError for anything else."""
    if not _UUID.fullmatch(text.strip()):
        raise ValueError(tr("`{text}` is not a valid GPU UUID", text=text))
    return text.strip()


def parse_bus_id(text: str) -> str:
    """Parse nvidia-smi's `00000000:01:00.0` to sysfs' `0000:01:00.0`; raise ValueError for anything else."""
    match = _BUS_ID.fullmatch(text.strip())
    if not match:
        raise ValueError(tr("`{text}` is not a valid PCI bus id (example: 00000000:01:00.0)", text=text))
    return f"{int(match[1], 16):04x}:{match[2]}:{match[3]}.{match[4]}".lower()


def parse_device_id(text: str) -> str:
    """Parse `0x220810DE` (device, then NVIDIA's vendor id) to `2208`; raise ValueError for anything else."""
    match = _DEVICE_ID.fullmatch(text.strip())
    if not match:
        raise ValueError(tr("`{text}` is not a valid NVIDIA PCI device id (example: 0x220810DE)", text=text))
    return match[1].lower()
