"""Rows as aligned columns of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import east_asian_width

from gpuenv.i18n.messages import gettext


def render_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | Mapping[str, str]) -> str:
    """Return `columns` of `rows` under their names, aligned; lists are joined, None is a dash.

    A mapping gives the columns headings in English, which are translated.
    """
    headings = list(map(gettext, columns.values())) if isinstance(columns, Mapping) else list(columns)
    cells = [headings, *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(text_width(line[position]) for line in cells) for position in range(len(headings))]
    lines = ("  ".join(map(_fill, line, widths)) for line in cells)
    return "\n".join(line.rstrip() for line in lines)


def _fill(cell: str, width: int) -> str:
    return cell + " " * (width - text_width(cell))


def text_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese characters take two."""
    return len(text) + sum(east_asian_width(character) in "FW" for character in text)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return str(value)
