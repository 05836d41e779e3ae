"""What a reader of one vendor finds: its devices, each fact with its source, and problems."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from gpuenv.model.accelerator import Accelerator
from gpuenv.model.machine import Problem

Facts = tuple[tuple[str, str], ...]


class FoundDevice(Struct, frozen=True):
    """A device, and where each of its fields was read."""

    accelerator: Accelerator
    sources: Facts


class VendorReading(Struct, frozen=True):
    """Devices of one vendor, and what else was read of the machine, by the fields of its JSON form."""

    devices: tuple[FoundDevice, ...] = ()
    problems: tuple[Problem, ...] = ()
    amdgpu: str | None = None
    cann: str | None = None
    facts: Facts = ()


def facts_of(devices: Iterable[FoundDevice]) -> Facts:
    """Return the facts of devices in their order: `accelerators.0.name`, where each was read."""
    return tuple(
        (f"accelerators.{position}.{field}", source)
        for position, device in enumerate(devices)
        for field, source in device.sources
        if getattr(device.accelerator, field) is not None
    )
