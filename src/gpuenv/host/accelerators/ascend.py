"""Huawei's Ascend NPUs: by npu-smi, else by the PCI bus; and the release of CANN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuenv.host.accelerators.reading import Facts, FoundDevice, VendorReading, with_hidden
from gpuenv.host.executables import FileTree, RunProgram, is_there, read_text
from gpuenv.host.pci import HUAWEI, SOURCE, BusDevice
from gpuenv.knowledge.accelerator_names import AcceleratorNames
from gpuenv.model.accelerator import Accelerator

if TYPE_CHECKING:
    from gpuenv.knowledge.accelerators import Accelerators

VARIABLE = "ASCEND_TOOLKIT_HOME"
_MASK = "ASCEND_RT_VISIBLE_DEVICES"
_ANY_910 = "Ascend 910"  # so npu-smi calls 910C, and the first 910
_LIMIT_S = 10.0
_MOST, _MOST_NODES = 1024, 64
_MANAGER = "dev/davinci_manager"
_PLACES = ("usr/local/Ascend/ascend-toolkit/latest", "usr/local/Ascend/cann")
_FILE = "ascend_toolkit_install.info"
_CARD = re.compile(r"\|\s*(\d{1,4})\s+([0-9A-Za-z][\w.-]{0,30})\s+\|\s*\w", re.ASCII)
_CHIP = re.compile(
    r"\|\s*(\d{1,4})(?:\s+\d{1,4})?\s*\|\s*([0-9A-Fa-f:.]{7,13})\s*\|.*?(\d{1,8})\s*/\s*(\d{1,8})\s*\|\s*$",
    re.ASCII,
)
_CANN = re.compile(
    r"^version=(\d{1,2}(?:\.\d{1,2}){1,2}(?:\.(?:RC|alpha|beta|T)\d{1,4}){0,2})\s*$", re.MULTILINE | re.ASCII
)


class SmiChip(Struct, frozen=True):
    """A chip in npu-smi's table; memory is in MiB, of the HBM."""

    name: str
    bus_id: str
    memory_mib: int | None


def read_ascend(
    devices: tuple[BusDevice, ...],
    root: FileTree,
    environ: Mapping[str, str],
    known: Accelerators,
    run: RunProgram,
) -> VendorReading:
    """Return Huawei's NPUs, in npu-smi's order where it answers, and CANN's release."""
    own = tuple(device for device in devices if device.vendor == HUAWEI)
    answer = run("npu-smi", "info", timeout_s=_LIMIT_S)
    chips = tuple(islice(parse_npu_smi(answer.stdout), _MOST)) if answer and answer.ok else ()
    names = AcceleratorNames(known.devices) if chips else None
    found = [_by_name(index, chip, own, known, names) for index, chip in enumerate(chips)] if names else []
    if not found:
        found = [_by_id(index, device, known) for index, device in enumerate(own)]
    if not found:
        found = [_by_node(number) for number in _nodes(root)]
    cann, source = read_cann(root, environ)
    facts: Facts = (("cann", source),) if cann else ()
    return VendorReading(with_hidden(found, environ, (_MASK,)), cann=cann, facts=facts)


def has_ascend(root: FileTree) -> bool:
    """Whether the driver offers NPUs, on a bus that a container may not show."""
    return is_there(root / _MANAGER)


def _nodes(root: FileTree) -> Iterator[int]:
    return (number for number in range(_MOST_NODES) if is_there(root / f"dev/davinci{number}"))


def _by_node(number: int) -> FoundDevice:
    return FoundDevice(Accelerator(kind="npu", vendor="Huawei", index=number, discrete=True), ())


def parse_npu_smi(text: str) -> Iterator[SmiChip]:
    """Yield the chips of `npu-smi info`, whose rows come in pairs, a name and then its chips.

    Sample:
        | 0     910B3               | OK            | 92.8        35                0    / 0             |
        | 0                         | 0000:C1:00.0  | 0           0    / 0          3161 / 65536         |
    """
    name = None
    for line in text.splitlines()[: 4 * _MOST]:
        if chip := _CHIP.match(line[:200]):
            if name:
                yield SmiChip(name, chip[2].lower(), int(chip[4]) or None)
        elif card := _CARD.match(line[:200]):
            name = card[2]


def _by_name(
    index: int, chip: SmiChip, own: tuple[BusDevice, ...], known: Accelerators, names: AcceleratorNames
) -> FoundDevice:
    name = f"Ascend {chip.name.removeprefix('Ascend')}"
    device = next((item for item in own if item.bus_id == chip.bus_id), None)
    by_id = known.device(HUAWEI, device.pci_id, None) if device else None
    named = names.find(name)
    row = by_id if by_id and name == _ANY_910 else named.device if named else by_id
    accelerator = Accelerator(
        kind="npu",
        vendor="Huawei",
        index=index,
        name=name,
        architecture=row.architecture if row else None,
        memory_mib=chip.memory_mib,
        pci_id=device.pci_id if device else None,
        revision=device.revision if device else None,
        discrete=True,
    )
    smi = "npu-smi info"
    matrix = f"matrix: product name `{name}`"
    sources = (("name", smi), ("architecture", matrix), ("memory_mib", smi), ("pci_id", SOURCE))
    return FoundDevice(accelerator, sources)


def _by_id(index: int, device: BusDevice, known: Accelerators) -> FoundDevice:
    row = known.device(HUAWEI, device.pci_id, None)
    matrix = f"matrix: PCI id `{device.pci_id}`"
    accelerator = Accelerator(
        kind="npu",
        vendor="Huawei",
        index=index,
        name=row.name if row else None,
        architecture=row.architecture if row else None,
        pci_id=device.pci_id,
        revision=device.revision,
        discrete=True,
    )
    return FoundDevice(accelerator, (("name", matrix), ("architecture", matrix), ("pci_id", SOURCE)))


def read_cann(root: FileTree, environ: Mapping[str, str]) -> tuple[str | None, str]:
    """Return CANN's release by what its set_env.sh has set, else by where it is installed; and the file."""
    home = environ.get(VARIABLE, "")
    places = (home.strip("/"), *_PLACES) if home.startswith("/") and ".." not in home else _PLACES
    for place in places:
        for machine in ("x86_64-linux", "aarch64-linux"):
            path = f"{place}/{machine}/{_FILE}"
            if version := parse_cann(read_text(root / path) or ""):
                return version, f"/{path}"
    return None, ""


def parse_cann(text: str) -> str | None:
    """Parse `version=8.2.RC1` of CANN's install.info; None for anything else."""
    match = _CANN.search(text)
    return match[1] if match else None
