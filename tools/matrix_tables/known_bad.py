"""known-bad.json: combinations that install and then fail; libraries.json: what builds' libraries support."""

from __future__ import annotations

from typing import Any

from packaging.version import Version

from matrix_tables.facts import DATA, Facts, Row, Sources, UnusableFacts, read_toml


def build_known_bad(facts: Facts) -> list[Row]:
    """Make the rows of known-bad.json: every entry, with a condition where a plan can act on it."""
    sources = facts.sources()
    entries = facts.document("known_bad.toml")["bad"]
    conditions = read_toml(DATA / "conditions.toml")["condition"]
    unknown = {condition["id"] for condition in conditions} - {entry["id"] for entry in entries}
    if unknown:
        raise UnusableFacts(
            f"conditions.toml names {', '.join(sorted(unknown))}, which known_bad.toml does not have"
        )
    rows = []
    for entry in entries:
        own = [condition for condition in conditions if condition["id"] == entry["id"]]
        rows += [_row(entry, condition, sources) for condition in own or [{}]]
    return sorted(rows, key=lambda row: (row["area"], row["id"]))


def _row(entry: Row, condition: Row, sources: Sources) -> Row:
    row: Row = {
        "id": condition.get("row", entry["id"]),
        "area": entry["area"],
        "when": condition.get("when"),
        "when_text": entry["when"],
        "constrain": condition.get("constrain", []),
        "forbid": condition.get("forbid", False),
        "effect": entry["effect"],
        "error": entry.get("error"),
        "remedy": entry["remedy"],
        "confidence": entry["confidence"],
        "source": "; ".join(dict.fromkeys(sources.resolve(source) for source in entry["sources"])),
        "evidence": _evidence(entry),
    }
    return row | ({"note": entry["note"]} if "note" in entry else {})


def _evidence(entry: Row) -> str:
    if entry["confidence"] == "low" or any(source.startswith("recalled") for source in entry["sources"]):
        return "assumed"
    measured = any(source.startswith(("measured in wheels", "pypi-live")) for source in entry["sources"])
    return "wheel" if measured else "matrix"


def build_libraries(_facts: Facts) -> list[Row]:
    """Make the rows of libraries.json, sorted by library and version."""
    return sorted((_library(entry) for entry in read_toml(DATA / "libraries.toml")["library"]), key=_order)


def _library(entry: Row) -> Row:
    row: Row = {
        "library": entry["library"],
        "from": entry["from"],
        "min_compute_capability": entry["min_compute_capability"],
        "confidence": entry["confidence"],
        "source": entry["source"],
        "evidence": "matrix",
    }
    return row | ({"note": entry["note"]} if "note" in entry else {})


def _order(row: Row) -> Any:
    return row["library"], Version(row["from"])
