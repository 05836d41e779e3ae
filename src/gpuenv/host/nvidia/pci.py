"""NVIDIA's display hardware on the PCI bus, with or without a driver."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from gpuenv.host.pci import NVIDIA, BusDevice


class PciGpu(Struct, frozen=True):
    """An NVIDIA display device; `driver` is the kernel driver bound to it, such as `nouveau`."""

    bus_id: str
    pci_id: str
    driver: str | None


def nvidia_of(devices: Iterable[BusDevice]) -> tuple[PciGpu, ...]:
    """Return NVIDIA's of the devices on the bus."""
    own = (device for device in devices if device.vendor == NVIDIA)
    return tuple(PciGpu(device.bus_id, device.pci_id, device.driver) for device in own)
