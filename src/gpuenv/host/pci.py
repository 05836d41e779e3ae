"""The accelerators on the PCI bus, of all vendors, with or without a driver."""

from __future__ import annotations

import re
from itertools import islice

from msgspec import Struct

from gpuenv.host.executables import FileTree, read_text

SOURCE = "/sys/bus/pci"
NVIDIA = "10de"
AMD = "1002"
INTEL = "8086"
HUAWEI = "19e5"
HABANA, GOOGLE, CAMBRICON, MOORE_THREADS, HYGON = "1da3", "1ae0", "cabc", "1ed5", "1d94"
# what tells of AMD's and Huawei's accelerators where the bus is not shown
OFF_THE_BUS = ("sys/class/kfd/kfd/topology/nodes", "dev/davinci_manager")
_PLACE = "sys/bus/pci/devices"
_MOST = 20_000
_HEX = re.compile(r"0x([0-9a-fA-F]{4,8})")
_REVISION = re.compile(r"0x([0-9a-fA-F]{2})")
_MODALIAS = re.compile(r"pci:v0000([0-9A-F]{4})d0000([0-9A-F]{4})\S*?bc([0-9A-F]{2})sc")
_DISPLAY, _PROCESSING = "03", "12"  # base classes: VGA, 3D and other displays; processing accelerators
_COPROCESSOR = "0b"
# the base classes that count, by vendor: these have network cards, chipsets and consoles on the bus as well
_CLASSES: dict[str, tuple[str, ...]] = {
    NVIDIA: (_DISPLAY,),
    AMD: (_DISPLAY, _PROCESSING),
    INTEL: (_DISPLAY,),  # its NPUs are processing accelerators, for which there is no torch
    HUAWEI: (_PROCESSING,),  # its display is the console of a server
    HABANA: (_PROCESSING,),
    GOOGLE: (_PROCESSING, "ff", "08", "00"),
    CAMBRICON: (_PROCESSING, _COPROCESSOR, _DISPLAY),
    MOORE_THREADS: (_PROCESSING, _DISPLAY),
    HYGON: (_PROCESSING, _COPROCESSOR, _DISPLAY),
}


class BusDevice(Struct, frozen=True):
    """A device of a vendor of accelerators, by its ids in sysfs."""

    bus_id: str
    vendor: str
    pci_id: str
    folder: FileTree

    @property
    def revision(self) -> str | None:
        """Two hexadecimal digits, by which products of one id are told apart."""
        match = _REVISION.fullmatch((read_text(self.folder / "revision") or "").strip())
        return match[1].lower() if match else None

    @property
    def driver(self) -> str | None:
        """The kernel driver that is bound to it, such as `nouveau`."""
        return bound_driver(self.folder)


def read_devices(root: FileTree) -> tuple[BusDevice, ...]:
    """Return what may be an accelerator, by bus id; none without sysfs."""
    try:
        folders = sorted(islice((root / _PLACE).iterdir(), _MOST), key=lambda folder: folder.name)
    except OSError:
        return ()
    return tuple(device for folder in folders if (device := _read_device(folder)))


def _read_device(folder: FileTree) -> BusDevice | None:
    """Read one file of a device where the kernel has all its ids in one, as a server has hundreds."""
    if named := parse_modalias(read_text(folder / "modalias")):
        vendor, pci_id, base_class = named
    else:
        vendor = parse_id(read_text(folder / "vendor")) or ""
        if vendor not in _CLASSES:
            return None
        base_class = (parse_id(read_text(folder / "class")) or "")[:2]
        pci_id = parse_id(read_text(folder / "device")) or ""
    if base_class not in _CLASSES.get(vendor, ()) or len(pci_id) != 4:  # noqa: PLR2004 - digits of an id
        return None
    return BusDevice(folder.name.lower(), vendor, pci_id, folder)


def parse_modalias(text: str | None) -> tuple[str, str, str] | None:
    """Parse `pci:v000010DEd00002204sv...bc03sc00i00` to vendor, device and base class; None for all else."""
    match = _MODALIAS.match((text or "").strip())
    return (match[1].lower(), match[2].lower(), match[3].lower()) if match else None


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
