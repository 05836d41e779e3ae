"""GPUs on Windows: by the video controllers that Windows itself lists, with their PCI ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gpuenv.host.accelerators.reading import FoundDevice, VendorReading
from gpuenv.host.executables import RunProgram
from gpuenv.host.pci import AMD, INTEL
from gpuenv.model.accelerator import Accelerator, AcceleratorKind
from gpuenv.untrusted.documents import load_json

if TYPE_CHECKING:
    from gpuenv.knowledge.accelerators import Accelerators

SOURCE = "Win32_VideoController"
_QUESTION = (
    "Get-CimInstance Win32_VideoController | Select-Object Name,PNPDeviceID,DriverVersion | ConvertTo-Json"
)
_LIMIT_S = 20.0
_MOST = 64
# PCI\VEN_1002&DEV_744C&SUBSYS_0E3B1002&REV_C8\6&35F4D2B9&0&00000019
_PNP = re.compile(
    r"PCI\\VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})(?:&SUBSYS_[0-9A-F]{8})?(?:&REV_([0-9A-F]{2}))?", re.IGNORECASE
)
_KINDS: dict[str, tuple[str, AcceleratorKind]] = {AMD: ("AMD", "rocm"), INTEL: ("Intel", "xpu")}


def read_windows(known: Accelerators, run: RunProgram) -> VendorReading:
    """Ask Windows for its video controllers; virtual displays have no PCI id and are left out."""
    answer = run("powershell", "-NoProfile", "-NonInteractive", "-Command", _QUESTION, timeout_s=_LIMIT_S)
    controllers = parse_controllers(answer.stdout) if answer and answer.ok else ()
    found: list[FoundDevice] = []
    for name, vendor, pci_id, revision in controllers:
        if vendor not in _KINDS:
            continue
        label, kind = _KINDS[vendor]
        row = known.device(vendor, pci_id, revision)
        accelerator = Accelerator(
            kind=kind,
            vendor=label,
            index=sum(other.accelerator.vendor == label for other in found),
            name=row.name if row else name,
            architecture=row.architecture if row else None,
            pci_id=pci_id,
            revision=revision,
            discrete=row.discrete if row else None,
        )
        matrix = f"matrix: PCI id `{pci_id}`"
        sources = (
            ("name", matrix if row else SOURCE),
            ("architecture", matrix),
            ("pci_id", SOURCE),
            ("revision", SOURCE),
            ("discrete", matrix),
        )
        found.append(FoundDevice(accelerator, sources))
    return VendorReading(tuple(found))


def parse_controllers(text: str) -> tuple[tuple[str | None, str, str, str | None], ...]:
    r"""Parse ConvertTo-Json's object or list into names and PCI ids; whatever else it holds is left out.

    Sample:
        {"Name": "AMD Radeon RX 7900 XTX", "PNPDeviceID": "PCI\\VEN_1002&DEV_744C&SUBSYS_...&REV_C8\\6&...",
         "DriverVersion": "32.0.21013.1000"}
    """
    try:
        document: Any = load_json(text)
    except ValueError:
        return ()
    rows = document if isinstance(document, list) else [document]
    found = []
    for row in rows[:_MOST]:
        pnp = row.get("PNPDeviceID") if isinstance(row, dict) else None
        match = _PNP.match(pnp) if isinstance(pnp, str) else None
        if match:
            name = row.get("Name")
            revision = match[3].lower() if match[3] else None
            label = name[:80] if isinstance(name, str) and name else None
            found.append((label, match[1].lower(), match[2].lower(), revision))
    return tuple(found)
