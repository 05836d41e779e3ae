"""The manifest: how many rows each matrix has and which, so that one that shrank is found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuenv.i18n.messages import N_, tr
from gpuenv.knowledge.schema.tables import FIELDS
from gpuenv.matrix_checks.keys import MatrixFault, Row, known_key, row_key

Tables = Mapping[str, Sequence[Row]]

MANIFEST = "manifest"


def manifest_rows(tables: Tables) -> tuple[Row, ...]:
    """Return the rows of manifest.json for these tables, in the order of their names."""
    return tuple(_manifest_row(table, tables[table]) for table in sorted(tables) if table in FIELDS)


def _manifest_row(table: str, rows: Sequence[Row]) -> Row:
    return {"table": table, "count": len(rows), "keys": _digest(row_key(table, row) for row in rows)}


def _digest(keys: Iterator[str]) -> str:
    return hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()


def updated(manifest: Sequence[Row], tables: Tables) -> tuple[Row, ...]:
    """Return the manifest with the rows of these tables made anew."""
    made = {row["table"]: row for row in (*manifest, *manifest_rows(tables))}
    return tuple(made[table] for table in sorted(made))


def shrunk(tables: Tables, manifest: Sequence[Any]) -> Iterator[MatrixFault]:
    """Tell of tables that have fewer rows than the manifest counts, or as many and others.

    The manifest is what a file holds: anything may stand there. A table not given is not missed.
    """
    for entry in manifest:
        if not _is_entry(entry):
            yield MatrixFault(MANIFEST, f"{MANIFEST}.json", tr("an entry names no table, count and keys"))
        elif entry["table"] in tables:
            fields = _manifest_row(entry["table"], tables[entry["table"]])
            if fields["count"] < entry["count"]:
                yield _fault(entry, N_("shrank from {before} to {now} rows"), fields)
            elif fields["count"] == entry["count"] and fields["keys"] != entry["keys"]:
                yield _fault(entry, N_("has {now} rows as before, and they are others"), fields)
    answers = {entry["table"] for entry in manifest if _is_entry(entry)}
    for table in tables:
        if table in FIELDS and table not in answers:
            yield MatrixFault(MANIFEST, f"{table}.json", tr("the manifest does not count it"))


def _is_entry(entry: Any) -> bool:
    kinds = {"table": str, "count": int, "keys": str}
    return isinstance(entry, Mapping) and all(
        isinstance(entry.get(name), kind) for name, kind in kinds.items()
    )


def _fault(entry: Row, template: str, fields: Row) -> MatrixFault:
    facts = {"before": entry["count"], "now": fields["count"]}
    return MatrixFault(str(entry["table"]), f"{entry['table']}.json", tr(template, **facts))


def vanished(before: Tables, now: Tables, location: str) -> Iterator[MatrixFault]:
    """Tell of every row that another copy of the matrices, at `location`, has and these lack.

    Only what tells rows apart is compared: the copy may be older than fields are. Raises ValueError for a row
    of the copy that can't be told from others.
    """
    for table, rows in before.items():
        kept = {known_key(table, row) for row in now.get(table, ())}
        for number, row in enumerate(rows, start=1):
            key = known_key(table, row)
            if key is None:
                raise ValueError(tr("row {number} of {table}.json is invalid", number=number, table=table))
            if key not in kept:
                yield MatrixFault(table, key, tr("has vanished: `{place}` has it", place=location))
