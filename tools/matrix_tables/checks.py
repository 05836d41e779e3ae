"""checks.json: the texts of doctor's checks."""

from __future__ import annotations

import json
from collections.abc import Iterator

from matrix_tables.facts import DATA, Facts, Row, UnusableFacts, read_toml

_TABLE = "doctor_checks.json"


def build_checks(facts: Facts) -> list[Row]:
    """Make the rows of checks.json: a check of the facts each, with its group and the texts of its cases."""
    texts = {entry["id"]: entry for entry in read_toml(DATA / "checks.toml")["check"]}
    own = [entry for entry in texts.values() if "links" in entry]
    answer = {entry["id"]: entry for entry in (*_entries(facts), *own)}
    if answer.keys() != texts.keys():
        raise UnusableFacts(f"checks.toml and {_TABLE} differ in {sorted(answer.keys() ^ texts.keys())}")
    return [_row(answer[name], texts[name]) for name in sorted(answer)]


def _entries(facts: Facts) -> list[Row]:
    try:
        return list(json.loads((facts.directory / _TABLE).read_text(encoding="utf-8"))["checks"])
    except (OSError, ValueError) as error:
        raise UnusableFacts(f"`{_TABLE}` can't be read: {error}") from error


def _row(fact: Row, text: Row) -> Row:
    cases = text.get("cases", {})
    return {
        "id": fact["id"],
        "group": text["group"],
        "title": text.get("title", fact["title"]),
        "cases": dict(_cases(cases)),
        "instead": text.get("instead"),
        "common": fact["common"],
        **({"signature": text["signature"]} if "signature" in text else {}),
        "source": "; ".join(fact["links"]),
        "evidence": "assumed" if fact["evidence"] == "known" else "matrix",
    }


def _cases(cases: Row) -> Iterator[tuple[str, Row]]:
    for name, case in cases.items():
        yield name, _case(case)
        for system, command in case.get("on", {}).items():
            yield f"{name}@{system}", {**_case(case), "command": command}


def _case(case: Row) -> Row:
    return {name: case.get(name) for name in ("needs", "cause", "fix", "command")}
