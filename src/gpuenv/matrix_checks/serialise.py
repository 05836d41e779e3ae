"""The matrices as files: one row a line, sorted, so that a diff shows the rows that changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.matrix_checks.keys import Row, row_key
from gpuenv.model.variant import Variant

SCHEMA_VERSION = 1
DENSE = frozenset({"wheels", "dependencies"})  # tables of which the size counts
COMPANIONS = ("torchvision", "torchaudio", "torchtext", "torchdata", "xformers")

_PYTHON = re.compile(r"cp(\d)(\d+)(t?)")


def render_table(rows: Iterable[Row], *, dense: bool = False) -> str:
    """Render a table as JSON with one row a line; `dense` leaves out spaces, where a table's size counts."""
    indent, separators = ("", (",", ":")) if dense else ("    ", (", ", ": "))
    body = ",\n".join(f"{indent}{json.dumps(row, ensure_ascii=False, separators=separators)}" for row in rows)
    return "\n".join(["{", f'  "schema_version": {SCHEMA_VERSION},', '  "rows": [', body, "  ]", "}", ""])


def merge_rows(table: str, known: Iterable[Row], newer: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows of both, sorted; a newer row takes the place of the known one with its key."""
    merged = {row_key(table, row): row for row in known}
    merged.update((row_key(table, row), row) for row in newer)
    return sort_rows(table, merged.values())


def sort_rows(table: str, rows: Iterable[Row]) -> tuple[Row, ...]:
    """Sort rows as the table's file has them; tables without an order of their own stay as they are."""
    order = _ORDERS.get(table)
    return tuple(sorted(rows, key=order) if order else rows)


def python_order(tag: str) -> tuple[int, int, bool]:
    """Order wheel tags of Pythons: cp39 < cp310 < cp313 < cp313t < cp314; raise ValueError for others."""
    match = _PYTHON.fullmatch(tag)
    if not match:
        raise ValueError(tr("`{tag}` is not a valid Python tag (example: cp312)", tag=tag))
    return int(match[1]), int(match[2]), bool(match[3])


def variant_order(name: str) -> tuple[int, int]:
    """Order variants: cpu first, then by CUDA release (cu92 < cu102 < cu118)."""
    cuda = Variant(name).cuda
    return (cuda.major, cuda.minor) if cuda else (0, 0)


def _torch_order(row: Row) -> tuple[Any, ...]:
    return Version(row["torch"]), variant_order(row["variant"]), row["platform"], row["index"]


def _companion_order(row: Row) -> tuple[Any, ...]:
    pair = row["kind"] == "pair"
    projects = [*COMPANIONS, "triton"]
    position = projects.index(row["project"]) if row["project"] in projects else len(projects)
    return (0, Version(row["torch"]), position) if pair else (1, position, Version(row["version"]))


def _dependency_order(row: Row) -> tuple[Any, ...]:
    if row["kind"] == "build":
        return 0, Version(row["torch"]), variant_order(row["variant"]), row["platform"], row["index"]
    return 1, row["project"], Version(row["version"]), row["platform"]


def _accelerator_order(row: Row) -> tuple[Any, ...]:
    release = tuple(int(part) for part in re.findall(r"\d+", row["variant"]))
    npu = Version(row.get("torch_npu", "0"))
    where = (row["platform"], row["index"], row["tags"], row.get("build", ""))
    return Version(row["torch"]), row["kind"], release, npu, *where


_ORDERS: Mapping[str, Callable[[Row], tuple[Any, ...]]] = {
    "torch": _torch_order,
    "companions": _companion_order,
    "dependencies": _dependency_order,
    "accelerator-builds": _accelerator_order,
}
