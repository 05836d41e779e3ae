"""Intel's graphics, by the PCI bus: the device's id tells for which builds of torch it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpuenv.host.accelerators.reading import FoundDevice, VendorReading, with_hidden
from gpuenv.host.pci import INTEL, SOURCE, BusDevice
from gpuenv.model.accelerator import Accelerator

if TYPE_CHECKING:
    from gpuenv.knowledge.accelerators import Accelerators


VARIABLE = "ZE_AFFINITY_MASK"


def read_intel(
    devices: tuple[BusDevice, ...], environ: Mapping[str, str], known: Accelerators
) -> VendorReading:
    """Return Intel's graphics by bus id; one of an id that is not known has no architecture."""
    own = (device for device in devices if device.vendor == INTEL)
    found = (_device(index, device, known) for index, device in enumerate(own))
    return VendorReading(with_hidden(found, environ, (VARIABLE,)))


def _device(index: int, device: BusDevice, known: Accelerators) -> FoundDevice:
    row = known.device(INTEL, device.pci_id, None)
    by_table = f"matrix: PCI id `{device.pci_id}`"
    accelerator = Accelerator(
        kind="xpu",
        vendor="Intel",
        index=index,
        name=row.name if row else None,
        architecture=row.architecture if row else None,
        pci_id=device.pci_id,
        revision=device.revision,
        discrete=row.discrete if row else None,
    )
    sources = (
        ("name", by_table),
        ("architecture", by_table),
        ("pci_id", SOURCE),
        ("revision", SOURCE),
        ("discrete", by_table),
    )
    return FoundDevice(accelerator, sources)
