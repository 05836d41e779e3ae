"""Rows as aligned columns of text, as wide as the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gpuenv.cli.text_width import columns_of, text_width, wrapped
from gpuenv.i18n.messages import gettext, series, tr

_GAP = "  "
_LEAST = 16  # columns of a terminal that a shortened column keeps
_LEAST_PROSE = 32
_CUT = "…"


def render_table(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str] | Mapping[str, str],
    *,
    width: int | None = None,
    prose: str | None = None,
) -> str:
    """Return `columns` of `rows` under their names, aligned; lists are joined, None is a dash.

    A mapping gives the columns headings in English, which are translated. Within `width` columns of a
    terminal the widest are shortened between words, then the last ones are left out, which a line below says;
    the last column is broken into lines instead where it is the one called `prose`.
    """
    names = list(columns)
    headings = list(map(gettext, columns.values())) if isinstance(columns, Mapping) else list(names)
    cells = [headings, *([_cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(text_width(line[position]) for line in cells) for position in range(len(headings))]
    if width is None:
        return "\n".join(_line(line, widths) for line in cells)
    if prose is not None and names[-1] == prose:
        return _with_prose(cells, widths, width)
    fitted = _fitted(cells, widths, width)
    lines = [_line(line, fitted) for line in cells]
    if left_out := headings[len(fitted) :]:
        lines += ["", tr("not shown: {columns} (--json has them)", columns=series(left_out))]
    return "\n".join(lines)


def _with_prose(cells: list[list[str]], widths: list[int], width: int) -> str:
    rest = width - min(widths[-1], _LEAST_PROSE) - len(_GAP)
    fitted = _fitted(cells, widths[:-1], rest)
    margin = sum(fitted) + len(_GAP) * len(fitted)
    lines = []
    for line in cells:
        first, *more = list(wrapped(line[-1], max(width - margin, _LEAST_PROSE))) or [""]
        lines.append(_line([*line[: len(fitted)], first], [*fitted, text_width(first)]))
        lines += [" " * margin + part for part in more]
    return "\n".join(lines)


def terminal_width() -> int | None:
    """Return how wide the terminal is that stdout is; None for a file or a pipe, which takes any line."""
    return columns_of(sys.stdout)


def _fitted(cells: list[list[str]], widths: list[int], width: int) -> list[int]:
    """Return the widths of the columns that are kept: all but the first are shortened, down to a word."""
    least = [
        min(most, max(_LEAST, *(text_width(f"{line[position].split(' ')[0]} {_CUT}") for line in cells)))
        for position, most in enumerate(widths)
    ]
    kept = list(widths)
    while kept[1:] and (surplus := sum(kept) + len(_GAP) * (len(kept) - 1) - width) > 0:
        spare, roomiest = max(
            (kept[position] - least[position], position) for position in range(1, len(kept))
        )
        if spare:
            kept[roomiest] -= min(spare, surplus)
        else:
            kept = widths[: len(kept) - 1]
    return kept


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = (_fill(_shortened(cell, width), width) for cell, width in zip(cells, widths, strict=False))
    return _GAP.join(shown).rstrip()


def _shortened(cell: str, width: int) -> str:
    """Return as many whole words of a cell as fit, and a mark that there are more."""
    if text_width(cell) <= width:
        return cell
    words = cell.split(" ")
    while len(words) > 1 and text_width(" ".join((*words, _CUT))) > width:
        words.pop()
    return " ".join((*words, _CUT))


def _fill(cell: str, width: int) -> str:
    return cell + " " * (width - text_width(cell))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return str(value)
