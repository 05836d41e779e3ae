"""known-bad.json: combinations that install and then fail."""

from __future__ import annotations

from matrix_tables.facts import DATA, Facts, Row, Sources, UnusableFacts, read_toml


def build_known_bad(facts: Facts) -> list[Row]:
    """Make the rows of known-bad.json: every entry, who judges it, and by which conditions."""
    sources = facts.sources()
    entries = facts.document("known_bad.toml")["bad"]
    conditions = read_toml(DATA / "conditions.toml")["condition"]
    unknown = {condition["id"] for condition in conditions} - {entry["id"] for entry in entries}
    if unknown:
        raise UnusableFacts(
            f"conditions.toml names {', '.join(sorted(unknown))}, which known_bad.toml does not have"
        )
    silent = {entry["id"] for entry in entries} - {condition["id"] for condition in conditions}
    if silent:
        raise UnusableFacts(f"conditions.toml does not say who judges {', '.join(sorted(silent))}")
    by_id = {entry["id"]: entry for entry in entries}
    rows = [_row(by_id[condition["id"]], condition, sources) for condition in conditions]
    return sorted(rows, key=lambda row: (row["area"], row["id"]))


def _row(entry: Row, condition: Row, sources: Sources) -> Row:
    row: Row = {
        "id": condition.get("row", entry["id"]),
        "area": entry["area"],
        "judge": condition["judge"],
        "when": condition.get("when", []),
        "unless": condition.get("unless", []),
        "when_text": entry["when"],
        "constrain": condition.get("constrain", []),
        "add": condition.get("add", []),
        "forbid": condition.get("forbid", False),
        "avoid": condition.get("avoid", False),
        "warn": condition.get("warn", False),
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
    reported = ("measured in wheels", "pypi-live metadata")
    measured = any(source.startswith(reported) for source in entry["sources"])
    return "wheel" if measured else "matrix"
