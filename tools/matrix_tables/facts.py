"""The facts: CSV and TOML files, and where each of them was read."""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Row = dict[str, Any]
DATA = Path(__file__).parent


class UnusableFacts(Exception):  # noqa: N818 - said of the facts, not of the tool
    """The facts contradict each other or can't be read; nothing was written."""


@dataclass
class Facts:
    """The facts folder; `left_out`: what no table was made from, and why; `overruled`: what wheels deny."""

    directory: Path
    left_out: list[str] = field(default_factory=list)
    overruled: list[str] = field(default_factory=list)

    def table(self, name: str) -> list[dict[str, str]]:
        """Read a CSV file with a header line; raise UnusableFacts where a line does not fit it."""
        try:
            with (self.directory / name).open(encoding="utf-8", newline="") as lines:
                rows = list(csv.DictReader(lines))
        except (OSError, ValueError, csv.Error) as error:
            raise UnusableFacts(f"`{name}` can't be read: {error}") from error
        for number, row in enumerate(rows, start=2):
            if None in row or None in row.values():
                raise UnusableFacts(f"`{name}`, line {number}: not as many fields as the header has")
        return rows

    def document(self, name: str) -> Row:
        """Read a TOML file."""
        return read_toml(self.directory / name)

    def sources(self) -> Sources:
        """Read sources.toml, and the short names that the tables give their evidence."""
        return Sources(self.document("sources.toml")["source"], read_toml(DATA / "sources.toml"))


def read_toml(path: Path) -> Row:
    """Read a TOML file; raise UnusableFacts where it is absent or garbled."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnusableFacts(f"`{path.name}` can't be read: {error}") from error


@dataclass(frozen=True)
class Sources:
    """Turns the short ids of the facts into something that a reader can follow."""

    known: dict[str, Row]
    labels: Row

    def resolve(self, text: str) -> str:
        """Resolve ids separated by `;`: `pypi-live` becomes `PyPI (2026-11-20)`; URLs stay."""
        parts = [part.strip() for part in text.split(";") if part.strip()]
        return "; ".join(dict.fromkeys(self._one(part) for part in parts))

    def _one(self, name: str) -> str:
        name = self.labels["alias"].get(name, name)
        if name in self.labels["label"]:
            return str(self.labels["label"][name])
        if name not in self.known:
            return name
        return _cite(name, self.known[name])


def _cite(name: str, source: Row) -> str:
    if "page" in source:
        return re.sub(r"\s.*", "", source["page"])
    if "repo" in source:
        path = re.sub(r"[,( ].*", "", source.get("path", ""))
        return f"https://github.com/{source['repo']} {path}".rstrip()
    date = f" ({source['date']})" if "date" in source else ""
    return f"{name}{date}"
