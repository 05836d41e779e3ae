"""reports.json: how programs write what they report of a machine."""

from __future__ import annotations

from matrix_tables.facts import DATA, Row, read_toml
from matrix_tables.regex_words import words_needed

_TABLES = ("reports.toml", "reports_labels.toml", "reports_running.toml", "reports_installing.toml")


def build_reports() -> list[Row]:
    """Make the rows of reports.json, each with the words that a text must have for its pattern."""
    return [_row(entry) for table in _TABLES for entry in read_toml(DATA / table)["report"]]


def _row(entry: Row) -> Row:
    ways = entry.get("needs") or words_needed(entry["pattern"])
    return {
        "program": entry["program"],
        "pattern": entry["pattern"],
        "needs": [[word.strip() for word in way] for way in ways],
        "sample": entry["sample"],
        "facts": entry["facts"],
        "source": entry["source"],
    }
