"""The device files of GPUs, and what is on the PCI bus beside NVIDIA's GPUs."""

from __future__ import annotations

import os
from pathlib import Path

from gpuenv.host.executables import read_text
from gpuenv.host.nvidia.pci import bound_driver, parse_id
from gpuenv.model.findings import Node, PciDevice

_NAMES = ("nvidia*", "dxg", "kfd")
_MOST = 512
_CLASSES = ("03", "0680")  # displays and 3D controllers; NVSwitch


def read_nodes(root: Path) -> tuple[Node, ...]:
    """Return the device files that belong to GPUs, and whether this user may open them."""
    try:
        paths = [path for name in _NAMES for path in sorted((root / "dev").glob(name))[:_MOST]]
    except OSError:
        return ()
    return tuple(Node("/dev/" + path.name, _may_open(path)) for path in paths if not path.is_dir())


def _may_open(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK)


def read_devices(root: Path) -> tuple[PciDevice, ...]:
    """Return the display devices and NVSwitches of all makers, in the order of their bus ids."""
    try:
        devices = sorted((root / "sys/bus/pci/devices").iterdir())
    except OSError:
        return ()
    return tuple(result for device in devices if (result := _read_device(device)))


def _read_device(device: Path) -> PciDevice | None:
    vendor, kind = parse_id(read_text(device / "vendor")), parse_id(read_text(device / "class"))
    number = parse_id(read_text(device / "device"))
    if vendor is None or number is None or kind is None or not kind.startswith(_CLASSES):
        return None
    translation = (read_text(device / "iommu_group" / "type") or "").strip() or None
    return PciDevice(vendor, number, kind, bound_driver(device), translation)
