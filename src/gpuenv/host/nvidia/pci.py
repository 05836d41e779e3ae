"""Find NVIDIA's display hardware on the PCI bus, with or without a driver."""

from __future__ import annotations

import re

from msgspec import Struct

from gpuenv.host.executables import FileTree, read_text

SOURCE = "/sys/bus/pci"
_PLACE = "sys/bus/pci/devices"
_NVIDIA = "10de"
_HEX = re.compile(r"0x([0-9a-fA-F]{4,8})")
_DISPLAY_CLASS = "03"  # PCI base class 03h: VGA, 3D and other display controllers


class PciGpu(Struct, frozen=True):
    """An NVIDIA display device; `driver` is the kernel driver bound to it, such as `nouveau`."""

    bus_id: str
    pci_id: str
    driver: str | None


def read_pci(root: FileTree) -> tuple[PciGpu, ...]:
    """Return NVIDIA's display devices by bus id; none without sysfs."""
    try:
        devices = sorted((root / _PLACE).iterdir(), key=lambda device: device.name)
    except OSError:
        return ()
    return tuple(gpu for device in devices if (gpu := _read_device(device)))


def _read_device(device: FileTree) -> PciGpu | None:
    if parse_id(read_text(device / "vendor")) != _NVIDIA:
        return None
    if not (parse_id(read_text(device / "class")) or "").startswith(_DISPLAY_CLASS):
        return None
    pci_id = parse_id(read_text(device / "device"))
    return PciGpu(device.name.lower(), pci_id, bound_driver(device)) if pci_id else None


def parse_id(text: str | None) -> str | None:
    """Parse sysfs' `0x10de` to `10de`; None for anything else."""
    match = _HEX.fullmatch((text or "").strip())
    return match[1].lower() if match else None


def bound_driver(device: FileTree) -> str | None:
    """Return the kernel driver that is bound to a device, such as `nouveau`."""
    try:
        return (device / "driver").readlink().name or None
    except OSError:
        return None
