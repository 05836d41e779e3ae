"""The GPUs of a machine: their device files, the PCI bus, and the state that nvidia-smi reports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gpuenv.host.executables import read_text
from gpuenv.host.nvidia.smi_program import find_nvidia_smi
from gpuenv.host.pci import bound_driver, parse_id
from gpuenv.i18n.messages import tr
from gpuenv.model.findings import GpuState, Node, PciDevice
from gpuenv.process import subprocesses as process

_NAMES = ("nvidia*", "dxg", "kfd", "dri/renderD*", "davinci*")
_MOST_NODES = 512
_CLASSES = ("03", "0680")  # displays and 3D controllers; NVSwitch
_LIMIT_S = 15.0
_FIELDS = (
    "index", "compute_mode", "memory.used", "memory.total", "ecc.errors.uncorrected.volatile.total",
    "clocks_throttle_reasons.hw_thermal_slowdown",
)  # fmt: skip
_MOST = 256
_LARGEST = 1 << 20  # bytes of an answer


def read_nodes(root: Path) -> tuple[Node, ...]:
    """Return the device files that belong to GPUs, and whether this user may open them."""
    try:
        paths = [path for name in _NAMES for path in sorted((root / "dev").glob(name))[:_MOST_NODES]]
    except OSError:
        return ()
    files = {path: path.relative_to(root / "dev").as_posix() for path in paths if not path.is_dir()}
    return tuple(Node(f"/dev/{name}", os.access(path, os.R_OK | os.W_OK)) for path, name in files.items())


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


def read_states(environ: Mapping[str, str], root: Path) -> tuple[GpuState, ...]:
    """Ask nvidia-smi; nothing where it is not there, or does not know one of the fields."""
    program = find_nvidia_smi(environ, root)
    if program is None:
        return ()
    argv = [str(program), f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    done = process.run(argv, timeout_s=_LIMIT_S, environ=environ, limit=_LARGEST)
    try:
        return parse_states(done.stdout) if done.ok else ()
    except ValueError:
        return ()


def parse_states(text: str) -> tuple[GpuState, ...]:
    """Parse the answer, a line a GPU; raise ValueError for lines of another kind.

    Sample: `0, Default, 1024, 24564, [N/A], Not Active`
    """
    return tuple(_parse_line(line) for line in text.splitlines()[:_MOST] if line.strip())


def _parse_line(line: str) -> GpuState:
    words = [word.strip() for word in line.split(",")]
    if len(words) != len(_FIELDS) or not _number(words[0]):
        raise ValueError(tr("`{line}` is not a valid line of GPU state", line=line[:80]))
    return GpuState(
        index=int(words[0]),
        compute_mode=words[1] if words[1][:1].isalpha() else None,
        memory_used=_count(words[2]),
        memory_total=_count(words[3]),
        ecc_errors=_count(words[4]),
        too_hot={"Active": True, "Not Active": False}.get(words[5]),
    )


def _count(word: str) -> int | None:
    return int(word) if _number(word) else None


def _number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 12  # noqa: PLR2004
