"""What a reader of one vendor finds: its devices, each fact with its source, and problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.model.accelerator import Accelerator
from gpuenv.model.machine import Problem

Facts = tuple[tuple[str, str], ...]
_NUMBER = re.compile(r"[0-9]{1,9}")


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


def with_hidden(
    devices: Iterable[FoundDevice], environ: Mapping[str, str], variables: tuple[str, ...]
) -> tuple[FoundDevice, ...]:
    """Tell which devices the variables leave to programs; names of devices that are no numbers hide none.

    Each counts what the ones before it have left. `0.1` is a part of device 0.
    """
    devices = tuple(devices)
    left = [device.accelerator.index for device in devices]
    reason = ""
    for variable in variables:
        words = [word.partition(".")[0].strip() for word in environ.get(variable, "").split(",")]
        if variable in environ and all(_NUMBER.fullmatch(word) or word in ("", "-1") for word in words):
            numbers = [int(word) for word in words if _NUMBER.fullmatch(word)]
            left = [left[number] for number in numbers if number < len(left)]
            reason = reason or variable
    if not reason:
        return devices
    return tuple(
        FoundDevice(
            replace(device.accelerator, visible=device.accelerator.index in left),
            (*device.sources, ("visible", reason)),
        )
        for device in devices
    )
