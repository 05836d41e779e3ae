"""Devices that are named, and for which nothing is planned: TPU, Gaudi, MLU, MUSA, DCU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuenv.host.accelerators.reading import FoundDevice, VendorReading
from gpuenv.host.pci import CAMBRICON, GOOGLE, HABANA, HYGON, MOORE_THREADS, SOURCE, BusDevice
from gpuenv.model.accelerator import Accelerator

if TYPE_CHECKING:
    from gpuenv.knowledge.accelerators import Accelerators

VENDORS = {
    HABANA: "Intel Gaudi",
    GOOGLE: "Google TPU",
    CAMBRICON: "Cambricon MLU",
    MOORE_THREADS: "Moore Threads MTT",
    HYGON: "Hygon DCU",
}
_NETWORK_TOO = (GOOGLE,)  # its network and storage devices are on the bus of every virtual machine


def read_recognised(devices: tuple[BusDevice, ...], known: Accelerators) -> VendorReading:
    """Return the devices of these vendors by bus id, named by the tables, else by their vendor's family."""
    found: list[FoundDevice] = []
    for device in devices:
        if device.vendor not in VENDORS:
            continue
        row = known.device(device.vendor, device.pci_id, None)
        if row is None and device.vendor in _NETWORK_TOO:
            continue
        family = VENDORS[device.vendor]
        vendor = family.rpartition(" ")[0]
        accelerator = Accelerator(
            kind=None,
            vendor=vendor,
            index=sum(other.accelerator.vendor == vendor for other in found),
            name=row.name if row else family,
            pci_id=device.pci_id,
            revision=device.revision,
        )
        named = f"matrix: PCI id `{device.pci_id}`" if row else SOURCE
        found.append(FoundDevice(accelerator, (("name", named), ("pci_id", SOURCE), ("revision", SOURCE))))
    return VendorReading(tuple(found))
