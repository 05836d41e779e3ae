"""Rows as aligned columns of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def render_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return `columns` of `rows` under a heading, aligned; lists are joined, None is a dash."""
    cells = [list(columns), *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return str(value)
