"""gpus.json: product names and PCI ids with their compute capability."""

from __future__ import annotations

import re
from typing import Any

from gpuenv.model.capability import parse_compute_capability
from matrix_tables.facts import DATA, Facts, Row, Sources, UnusableFacts, read_toml

_PCI_ID = re.compile(r"[0-9a-f]{4}")


def build_gpus(facts: Facts) -> list[Row]:
    """Make the rows of gpus.json, sorted by compute capability and name.

    gpus.toml has the names that the facts lack: as drivers print them, of boards and of OEMs' cards. They add
    no compute capability.
    """
    sources = facts.sources()
    added = read_toml(DATA / "gpus.toml")
    rows = [_row(fact, sources) for fact in facts.table("gpus.csv")]
    names = {row["name"] for row in rows}
    known = {row["compute_capability"] for row in rows}
    more = (_printed(entry) for entry in added["gpu"] if entry["name"] not in names)
    every = (*rows, *(row for row in more if row["compute_capability"] in known))
    return sorted((_placed(row, tuple(added["on_arm"])) for row in every), key=_order)


def _placed(row: Row, on_arm: tuple[str, ...]) -> Row:
    """Return the row of a GPU that is on Arm alone with its platform."""
    is_on_arm = row["family"] == "Jetson" or row["name"].startswith(on_arm)
    return row | ({"platform": "linux-aarch64"} if is_on_arm else {})


def _printed(entry: Row) -> Row:
    capability = parse_compute_capability(entry["compute_capability"])
    fields = {name: entry[name] for name in ("architecture", "family")}
    return {
        "name": entry["name"],
        "compute_capability": str(capability),
        **fields,
        "pci_ids": [],
        "preferred": True,
        "source": entry["source"],
        "evidence": entry.get("evidence", "matrix"),
    }


def _row(fact: dict[str, str], sources: Sources) -> Row:
    ids = fact["pci_device_ids"].split()
    try:
        capability = parse_compute_capability(fact["compute_capability"])
    except ValueError as error:
        raise UnusableFacts(f"gpus.csv: {fact['name']}: {error}") from error
    if not all(_PCI_ID.fullmatch(item) for item in ids):
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
