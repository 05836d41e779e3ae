"""Writes the tables: one row a line, all of them or none."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from matrix_tables.facts import Row, UnusableFacts

SCHEMA_VERSION = 1


def render_table(rows: list[Row], *, dense: bool = False) -> str:
    """Render a table as JSON with one row a line, so that a diff shows the rows that changed.

    `dense` leaves out spaces, for a table whose size counts.
    """
    indent, separators = ("", (",", ":")) if dense else ("    ", (", ", ": "))
    body = ",\n".join(f"{indent}{json.dumps(row, ensure_ascii=False, separators=separators)}" for row in rows)
    return "\n".join(["{", f'  "schema_version": {SCHEMA_VERSION},', '  "rows": [', body, "  ]", "}", ""])


def refuse_shrinking(directory: Path, tables: dict[str, list[Row]]) -> None:
    """Raise UnusableFacts where a table has fewer rows than the file it would replace."""
    for name, rows in tables.items():
        path = directory / f"{name}.json"
        before = _count(path)
        if len(rows) < before:
            raise UnusableFacts(
                f"`{path.name}` would shrink from {before} to {len(rows)} rows; --allow-shrink if it should"
            )


def _count(path: Path) -> int:
    try:
        return len(json.loads(path.read_text(encoding="utf-8"))["rows"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0  # nothing readable there to lose


def write_tables(directory: Path, texts: dict[str, str]) -> None:
    """Write the files; every one is complete beside its place before the first is replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".new-") as beside:
        for name, text in texts.items():
            (Path(beside) / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")
        for name in texts:
            os.replace(Path(beside) / f"{name}.json", directory / f"{name}.json")  # noqa: PTH105 - atomic
