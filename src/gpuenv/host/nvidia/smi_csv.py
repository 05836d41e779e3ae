"""Parse the output of `nvidia-smi --query-gpu=... --format=csv`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from gpuenv.host.nvidia.reading import (
    GpuReading,
    SourceReading,
    parse_bus_id,
    parse_device_id,
    parse_driver_version,
    parse_uuid,
)
from gpuenv.host.nvidia.smi_messages import field_state
from gpuenv.host.nvidia.smi_program import FIELDS
from gpuenv.i18n.messages import tr
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.machine import DriverVersion

SOURCE = "nvidia-smi --query-gpu"

_MOST_GPUS = 256
_TWO_COLUMNS = 2


def parse_query(text: str, fields: Sequence[str] = FIELDS) -> SourceReading:
    """Parse the rows of a query for `fields`, with or without header and units; raise ValueError.

    Sample (`csv,noheader,nounits`):
        0, Tesla T4, 525.60.13, GPU-8f0b..., 00000000:00:04.0, 0x1EB810DE, 15360, [N/A], 7.5
    A row with another number of columns is parsed by the form of its values.
    """
    rows = [row for line in text.splitlines() if (row := _cells(line))]
    columns = next((header for row in rows if (header := _header(row))), None)
    rows = [row for row in rows if not _header(row)]
    read = [_read(row, columns or fields) for row in rows[:_MOST_GPUS]]
    gpus = _distinct(gpu for gpu, _ in filter(None, read))
    if not gpus:
        raise ValueError(tr("none of its lines describes a GPU"))
    driver = next((driver for _, driver in filter(None, read) if driver), None)
    # rows with few cells are sentences with a comma
    unread = sum(
        result is None and len(row) >= len(fields) / 2 for row, result in zip(rows, read, strict=False)
    )
    return SourceReading(SOURCE, driver=driver, gpus=gpus, unread=unread + max(0, len(rows) - _MOST_GPUS))


def _cells(line: str) -> tuple[str, ...]:
    """Split a line; a warning, an empty line or a table is empty."""
    cells = tuple(cell.strip() for cell in line.replace("\ufeff", "").split(","))
    return () if len(cells) < _TWO_COLUMNS or line.lstrip().startswith(("|", "+")) else cells


def _header(row: Sequence[str]) -> tuple[str, ...]:
    """Return the fields of a header, `name, memory.total [MiB]`; nothing for other lines."""
    names = tuple(cell.split(" [")[0] for cell in row)
    names = tuple(_ALIASES.get(name, name) for name in names)
    known = sum(name in _PARSERS for name in names)
    return names if known and known >= len(names) / 2 else ()


def _read(row: Sequence[str], columns: Sequence[str]) -> tuple[GpuReading, DriverVersion | None] | None:
    """Parse one row; None if its values are ambiguous."""
    if len(row) == len(columns) or _starts(row, columns):
        values = {column: _value(column, cell) for column, cell in zip(columns, row, strict=False)}
    else:
        values = _by_looks(row)
    known = [column for column, value in values.items() if value is not None]
    states = tuple(dict.fromkeys(state for cell in row if (state := field_state(cell))))
    if not states and (len(known) < min(_TWO_COLUMNS, len(row)) or not _IDENTITY & set(known)):
        return None
    driver = values.pop("driver_version", None)
    facts = {_ATTRIBUTES[column]: value for column, value in values.items() if column in _ATTRIBUTES}
    return GpuReading(**facts, states=states), driver


def _starts(row: Sequence[str], columns: Sequence[str]) -> bool:
    """Tell whether a row is the start of a truncated one."""
    if len(row) > len(columns):
        return False
    whole = zip(columns, row[:-1], strict=False)  # the last cell may be truncated
    return all(_value(column, cell) is not None or _is_blank(cell) for column, cell in whole)


def _by_looks(row: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for cell in row:
        for column in _SHAPES:
            if column not in values and (value := _value(column, cell)) is not None:
                values[column] = value
                break
    return values


def _value(column: str, cell: str) -> Any:
    """Parse one cell; None if it is blank (`[N/A]`), a state (`ERR!`) or invalid."""
    parse = _PARSERS.get(column)
    if parse is None or _is_blank(cell) or field_state(cell):
        return None
    try:
        return parse(cell)
    except ValueError:
        return None


def _is_blank(cell: str) -> bool:
    """Tell whether a cell is empty, `[N/A]`, `N/A`, `[Not Supported]` or `[Insufficient Permissions]`."""
    return not cell or cell.startswith("[") or cell.casefold() in {"n/a", "not supported"}


def _parse_index(cell: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", cell) or int(cell) >= _MOST_GPUS:
        raise ValueError(cell)
    return int(cell)


def _parse_memory(cell: str) -> int:
    """Parse `81559`, `81559 MiB`, or `11019 MB` as drivers before 331 print it."""
    match = re.fullmatch(r"([0-9]{1,9})\s*(?:MiB|MB)?", cell)
    if not match:
        raise ValueError(cell)
    return int(match[1])


def _parse_mig(cell: str) -> bool:
    if cell not in {"Enabled", "Disabled"}:
        raise ValueError(cell)
    return cell == "Enabled"


def _parse_name(cell: str) -> str:
    """Check a name: printable, with letters, and not another kind of value."""
    if not any(character.isalpha() for character in cell) or not cell.isprintable():
        raise ValueError(cell)
    if cell.startswith(("GPU-", "MIG-", "0x")) or cell in {"Enabled", "Disabled"}:
        raise ValueError(cell)
    return cell


def _distinct(gpus: Iterable[GpuReading]) -> tuple[GpuReading, ...]:
    """Drop repeated GPUs, and number those without an index."""
    seen: dict[object, GpuReading] = {}
    for position, gpu in enumerate(gpus):
        numbered = gpu if gpu.index is not None else replace(gpu, index=position)
        seen.setdefault(numbered.index, numbered)
    return tuple(sorted(seen.values(), key=lambda gpu: gpu.index or 0))


_PARSERS: dict[str, Callable[[str], Any]] = {
    "uuid": parse_uuid,
    "pci.bus_id": parse_bus_id,
    "pci.device_id": parse_device_id,
    "mig.mode.current": _parse_mig,
    "compute_cap": parse_compute_capability,
    "driver_version": parse_driver_version,
    "memory.total": _parse_memory,
    "index": _parse_index,
    "name": _parse_name,
}
# The first parser that accepts a value defines its column.
_SHAPES = (
    "uuid", "pci.bus_id", "pci.device_id", "mig.mode.current", "compute_cap", "driver_version", "index",
    "memory.total", "name",
)  # fmt: skip
_ALIASES = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id"}
_ATTRIBUTES = {
    "index": "index",
    "name": "name",
    "compute_cap": "compute_capability",
    "memory.total": "memory_mib",
    "uuid": "uuid",
    "pci.bus_id": "bus_id",
    "pci.device_id": "pci_id",
    "mig.mode.current": "mig",
}
_IDENTITY = {"name", "compute_cap", "pci.device_id", "uuid"}
