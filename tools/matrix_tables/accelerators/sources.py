"""Where facts about accelerators were read: ids of facts/accelerators/sources.toml as addresses and names."""

from __future__ import annotations

import re
from pathlib import Path

from matrix_tables.facts import Facts, Row, Sources, read_toml

HERE = Path(__file__).parent
FOLDER = "accelerators"
_THREAD = re.compile(r"github ([\w.-]+/[\w.-]+)(?: issue| pull request)? (\d+)\b.*", re.DOTALL)
_FILE = re.compile(r"github ([\w.-]+/[\w.-]+)@\w+(.*)", re.DOTALL)


class AcceleratorSources:
    """Turns ids separated by blanks into something that a reader can follow; addresses stay."""

    def __init__(self, facts: Facts) -> None:
        """Read the ids of the folder, and the names that sources.toml here gives some of them."""
        self._known: Row = facts.document(f"{FOLDER}/sources.toml")["source"]
        self._labels: Row = read_toml(HERE / "sources.toml")["label"]
        self._others: Sources = facts.sources()

    def resolve(self, text: str) -> str:
        """Resolve ids separated by blanks or commas."""
        parts = [part for part in re.split(r"[\s,;]+", text) if part]
        return "; ".join(dict.fromkeys(self._one(part) for part in parts))

    def _one(self, name: str) -> str:
        if name in self._labels:
            return str(self._labels[name])
        if name.startswith(("http", "../")):
            return self._others.resolve(name.removeprefix("../"))
        text = str(self._known.get(name, ""))
        if thread := _THREAD.fullmatch(text):
            return f"https://github.com/{thread[1]}/issues/{thread[2]}"
        if file := _FILE.fullmatch(text):
            return f"https://github.com/{file[1]}{file[2]}"
        return text or self._others.resolve(name)


def table(facts: Facts, name: str) -> list[dict[str, str]]:
    """Read a CSV file of the folder."""
    return facts.table(f"{FOLDER}/{name}.csv")


def evidence(confidence: str, *, read_in_wheel: bool = False) -> str:
    """Say how sure a row is, by the words of the facts."""
    if confidence in ("low", "assumed"):
        return "assumed"
    return "wheel" if read_in_wheel else "matrix"
