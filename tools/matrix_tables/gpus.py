"""gpus.json: product names and PCI ids with their compute capability."""

from __future__ import annotations

import re
from typing import Any

from gpuenv.values.capability import parse_compute_capability
from matrix_tables.facts import Facts, Row, Sources, UnusableFacts

_PCI_ID = re.compile(r"[0-9a-f]{4}")


def build_gpus(facts: Facts) -> list[Row]:
    """Make the rows of gpus.json, sorted by compute capability and name."""
    sources = facts.sources()
    return sorted((_row(fact, sources) for fact in facts.table("gpus.csv")), key=_order)


def _row(fact: dict[str, str], sources: Sources) -> Row:
    ids = fact["pci_device_ids"].split()
    try:
        capability = parse_compute_capability(fact["compute_capability"])
    except ValueError as error:
        raise UnusableFacts(f"gpus.csv: {fact['name']}: {error}") from error
    if not all(_PCI_ID.fullmatch(one) for one in ids):
        raise UnusableFacts(
            f"gpus.csv: {fact['name']}: `{fact['pci_device_ids']}` are no PCI ids such as 1b06"
        )
    row: Row = {
        "name": fact["name"],
        "compute_capability": str(capability),
        "architecture": fact["architecture"],
        "family": fact["family"],
        "pci_ids": ids,
        # the names that were sold with several capabilities are marked in the facts
        "preferred": not fact["note"].startswith("alternative"),
        "source": sources.resolve(fact["source"]),
        "evidence": "assumed" if fact["source"] == "recalled" else "matrix",
    }
    return row | ({"note": fact["note"]} if fact["note"] else {})


def _order(row: Row) -> Any:
    numbers = [
        (int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", row["name"].lower())
    ]
    return parse_compute_capability(row["compute_capability"]), numbers, row["name"]
