"""Writes the tables: all of them or none."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from gpuenv.knowledge.schema.tables import FIELDS
from matrix_tables.facts import Row, UnusableFacts


def read_tables(directory: Path) -> dict[str, list[Row]]:
    """Return the tables that lie in a folder; one that can't be read is none."""
    fields = {name: _rows(directory / f"{name}.json") for name in FIELDS}
    return {name: rows for name, rows in fields.items() if rows}


def refuse_shrinking(directory: Path, tables: dict[str, list[Row]]) -> None:
    """Raise UnusableFacts where a table has fewer rows than the file it would replace."""
    for name, rows in tables.items():
        path = directory / f"{name}.json"
        before = len(_rows(path))
        if len(rows) < before:
            raise UnusableFacts(
                f"`{path.name}` would shrink from {before} to {len(rows)} rows; --allow-shrink if it should"
            )


def _rows(path: Path) -> list[Row]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["rows"])
    except (OSError, ValueError, KeyError, TypeError):
        return []  # nothing readable there to lose


def write_tables(directory: Path, texts: dict[str, str]) -> None:
    """Write the files; every one is complete beside its place before the first is replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".new-") as beside:
        for name, text in texts.items():
            (Path(beside) / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")
        for name in texts:
            os.replace(Path(beside) / f"{name}.json", directory / f"{name}.json")  # noqa: PTH105 - atomic
