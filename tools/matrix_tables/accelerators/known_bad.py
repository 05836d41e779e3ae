"""accelerator-known-bad.json: combinations on other accelerators that install and then fail."""

from __future__ import annotations

from matrix_tables.accelerators.sources import FOLDER, HERE, AcceleratorSources, evidence
from matrix_tables.facts import Facts, Row, UnusableFacts, read_toml


def build_accelerator_known_bad(facts: Facts) -> list[Row]:
    """Make the rows of accelerator-known-bad.json, in the order of the facts."""
    sources = AcceleratorSources(facts)
    entries = facts.document(f"{FOLDER}/known_bad_accelerators.toml")["bad"]
    conditions = read_toml(HERE / "known_bad.toml")
    apart = {entry["id"] for entry in entries} ^ set(conditions)
    if apart:
        raise UnusableFacts(f"known_bad.toml and the facts do not agree on {', '.join(sorted(apart))}")
    return [_row(entry, conditions[entry["id"]], sources) for entry in entries]


def _row(entry: Row, condition: Row, sources: AcceleratorSources) -> Row:
    return {
        "id": entry["id"],
        "vendor": entry["vendor"],
        "judge": condition["judge"],
        "when": condition.get("when", []),
        "when_text": entry["when"],
        "forbid": condition.get("forbid", False),
        "warn": condition.get("warn", False),
        **({"override": condition["override"]} if "override" in condition else {}),
        "effect": condition.get("effect", entry["effect"]),
        "error": entry.get("error"),
        "remedy": condition.get("remedy", entry["remedy"]),
        "silent": entry["silent"],
        "confidence": entry["confidence"],
        "source": "; ".join(dict.fromkeys(sources.resolve(source) for source in entry["sources"])),
        "evidence": evidence(entry["confidence"]),
    }
