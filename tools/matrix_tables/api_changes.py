"""api-changes.json: what changed in the API of torch and of what hangs on it between two releases."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from matrix_tables.facts import DATA, Row, UnusableFacts, read_toml
from matrix_tables.regex_words import words_needed

_FILE = "api_changes.toml"
_ARGUMENTS = r"(?:[^()]|\((?:[^()]|\([^()]{0,120}\)){0,200}\)){0,500}"  # brackets two deep
_AT_TAG = re.compile(r"(\w+)@(\S+) (\S+)")


def build_api_changes() -> list[Row]:
    """Make the rows of api-changes.json, by project and release."""
    answer = read_toml(DATA / _FILE)
    try:
        rows = [_row(entry, answer["repository"]) for entry in answer["change"]]
        return sorted(rows, key=lambda row: (row["project"], Version(row["version"]), row["id"]))
    except (KeyError, InvalidVersion) as error:
        raise UnusableFacts(f"`{_FILE}`: {error}") from error


def _row(entry: Row, repositories: Row) -> Row:
    sample = entry.get("sample")
    pattern = entry["pattern"].replace("<args>", _ARGUMENTS) if "pattern" in entry else None
    if (pattern is None) != (sample is None):
        raise UnusableFacts(f"`{_FILE}`: {entry['id']} has a pattern or a sample, and needs both")
    if pattern and sample and not re.search(pattern, sample, re.MULTILINE):
        raise UnusableFacts(f"`{_FILE}`: the pattern of {entry['id']} does not match its sample")
    return {
        "id": entry["id"],
        "project": entry["project"],
        "version": entry["version"],
        "kind": entry["kind"],
        "often": entry.get("often", False),
        "names": entry["names"],
        "pattern": pattern,
        "needs": _needs(pattern),
        "languages": entry.get("languages", ["python"]),
        "text_en": entry["en"],
        "text_zh": entry["zh"],
        "sample": sample,
        "source": _source(entry["source"], repositories),
        "evidence": "matrix",
    }


def _needs(pattern: str | None) -> list[list[str]]:
    """Return the words without which the pattern matches nothing; none where it can do without any."""
    try:
        return words_needed(pattern) if pattern else []
    except UnusableFacts:
        return []


def _source(text: str, repositories: Row) -> str:
    """Read `torch@v2.9.1 torch/functional.py`; an address stays as it is."""
    match = _AT_TAG.fullmatch(text)
    return repositories[match[1]].format(tag=match[2], path=match[3]) if match else text
