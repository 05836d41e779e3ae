"""AMD's GPUs: by the kernel's topology (KFD), without any ROCm installed, else by the PCI bus.

HSA_OVERRIDE_GFX_VERSION, which ROCm's programs obey, does not show in KFD.
https://docs.kernel.org/gpu/amdgpu/index.html, https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdkfd/kfd_topology.c
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuenv.host.accelerators.reading import Facts, FoundDevice, VendorReading, with_hidden
from gpuenv.host.executables import FileTree, is_there, read_text
from gpuenv.host.pci import AMD, SOURCE, BusDevice
from gpuenv.i18n.messages import tr
from gpuenv.model.accelerator import Accelerator
from gpuenv.model.machine import Problem

if TYPE_CHECKING:
    from gpuenv.knowledge.accelerators import Accelerators

KFD = "sys/class/kfd/kfd/topology/nodes"
MODULE = "sys/module/amdgpu/version"
# what hides devices, in the order of its effect: each counts what the ones before it have left
VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_BUS = "sys/bus/pci/devices"
_MOST = 1024
_LARGEST_ID = 0xFFFF
_MIB = 1 << 20
_NUMBER = re.compile(r"[0-9]{1,19}")
_VERSION = re.compile(r"\d{1,3}(\.\d{1,4}){1,3}", re.ASCII)


class KfdNode(Struct, frozen=True):
    """A GPU as the kernel offers it to compute programs; one of MI300's partitions is one of its own."""

    bus_id: str
    architecture: str | None
    pci_id: str | None


def read_amd(
    devices: tuple[BusDevice, ...], root: FileTree, environ: Mapping[str, str], known: Accelerators
) -> VendorReading:
    """Return AMD's GPUs in KFD's order, then those without KFD, and the kernel driver."""
    own = {device.bus_id: device for device in devices if device.vendor == AMD}
    nodes = tuple(_read_nodes(root))
    for node in nodes:  # a container may show the kernel's topology and not the bus
        own.setdefault(node.bus_id, BusDevice(node.bus_id, AMD, node.pci_id or "", root / _BUS / node.bus_id))
    computing = {node.bus_id for node in nodes}
    bare = [KfdNode(bus_id, None, None) for bus_id in own if bus_id not in computing]
    read = [_device(index, own[node.bus_id], node, known) for index, node in enumerate((*nodes, *bare))]
    version = (read_text(root / MODULE) or "").strip()
    amdgpu = version if _VERSION.fullmatch(version) else None
    facts: Facts = (("amdgpu", f"/{MODULE}"),) if amdgpu else ()
    problems = _access_problems(root) if nodes else ()
    return VendorReading(with_hidden(read, environ, VARIABLES), problems, amdgpu=amdgpu, facts=facts)


def _access_problems(root: FileTree) -> tuple[Problem, ...]:
    """Tell why programs would not see the GPUs that the kernel offers; without a /dev nothing is known."""
    device = root / "dev/kfd"
    if not isinstance(device, Path) or not is_there(root / "dev"):
        return ()
    try:
        state = device.stat()
    except OSError:
        message = tr(
            "the kernel offers AMD GPUs, but `/dev/kfd` is not here: start the container with "
            "`--device /dev/kfd --device /dev/dri`"
        )
        return (Problem("kfd-missing", message),)
    if os.access(device, os.R_OK | os.W_OK):
        return ()
    message = tr(
        "this user may not use `/dev/kfd`, and torch would see no GPU: join its group (number {group}) and "
        "`video`, `sudo usermod -aG render,video $USER`, then log in again",
        group=state.st_gid,
    )
    return (Problem("kfd-denied", message),)


def _read_nodes(root: FileTree) -> Iterator[KfdNode]:
    try:
        folders = sorted(islice((root / KFD).iterdir(), _MOST), key=lambda node: node.name.zfill(8))
    except OSError:
        return
    for folder in folders:
        if node := parse_node(read_text(folder / "properties") or ""):
            yield node


def parse_node(text: str) -> KfdNode | None:
    """Parse a node's properties; None for a processor, whose simd_count is 0, and for other text.

    Sample:
        simd_count 192
        gfx_target_version 110000
        vendor_id 4098
        device_id 29772
        location_id 768
        domain 0
    """
    numbers = dict(_number_lines(text))
    if not numbers.get("simd_count") or numbers.get("vendor_id") != int(AMD, 16):
        return None
    place = numbers.get("location_id", 0)
    bus, slot, function = place >> 8 & 0xFF, place >> 3 & 0x1F, place & 0x7
    bus_id = f"{numbers.get('domain', 0) & 0xFFFF_FFFF:04x}:{bus:02x}:{slot:02x}.{function}"
    pci_id = numbers.get("device_id", 0)
    target = numbers.get("gfx_target_version", 0)
    return KfdNode(bus_id, gfx_of(target), f"{pci_id:04x}" if 0 < pci_id <= _LARGEST_ID else None)


def _number_lines(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if _NUMBER.fullmatch(value):
            yield name, int(value)


def gfx_of(target: int) -> str | None:
    """Return the architecture of KFD's number: 110000 is gfx1100, 90010 gfx90a; None for 0."""
    major, minor, step = target // 10000, target // 100 % 100, target % 100
    return f"gfx{major}{minor:x}{step:x}" if major and minor < 16 and step < 16 else None  # noqa: PLR2004


def _device(index: int, device: BusDevice, node: KfdNode, known: Accelerators) -> FoundDevice:
    revision = device.revision
    row = known.device(AMD, device.pci_id, revision)
    by_table = f"matrix: PCI id `{device.pci_id}`"
    product = (read_text(device.folder / "product_name", 256) or "").strip()
    memory = (read_text(device.folder / "mem_info_vram_total", 64) or "").strip()
    accelerator = Accelerator(
        kind="rocm",
        vendor="AMD",
        index=index,
        name=row.name if row else product or None,
        architecture=node.architecture or (row.architecture if row else None),
        memory_mib=int(memory) // _MIB if _NUMBER.fullmatch(memory) else None,
        pci_id=device.pci_id or None,
        revision=revision,
        discrete=row.discrete if row else None,
    )
    sources = (
        ("name", by_table if row else f"{SOURCE}: product_name"),
        ("architecture", f"/{KFD}" if node.architecture else by_table),
        ("memory_mib", f"{SOURCE}: mem_info_vram_total"),
        ("pci_id", SOURCE),
        ("revision", SOURCE),
        ("discrete", by_table),
    )
    return FoundDevice(accelerator, sources)
