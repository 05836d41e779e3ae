"""Checks the matrices: each row by itself, then the rows against each other.

The generator in tools/ refuses to write what fails here; `gpuenv matrix check` tells it of what is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.schema.field_types import check_fields
from gpuenv.knowledge.schema.tables import FIELDS
from gpuenv.matrix_checks import (  # noqa: F401 - each registers its comparisons
    cross_accelerators,
    cross_libraries,
    cross_tables,
    mirrors,
    published_files,
)
from gpuenv.matrix_checks.keys import CROSS_CHECKS, MatrixFault, Row, known_key, row_key

__all__ = ["MatrixFault", "check_matrices", "sound_rows"]

_WHEEL = re.compile(r"\.whl\b|\bwheels?\b|\bMETADATA\b|\bmetadata\b")


def check_matrices(tables: Mapping[str, Sequence[Any]]) -> tuple[MatrixFault, ...]:
    """Return what is wrong with the tables, in their order; a table not given is not missed.

    A table with a garbled row is not compared with others: what the row lacks would be missed there.
    """
    faults: list[MatrixFault] = []
    sound: dict[str, Sequence[Row]] = {}
    for table, rows in tables.items():
        garbled = tuple(_check_rows(table, rows))
        faults += garbled or _check_duplicates(table, rows)
        if not garbled:
            sound[table] = rows
    return (*faults, *_compare(sound))


def sound_rows(table: str, rows: Sequence[Any]) -> tuple[tuple[Row, ...], tuple[MatrixFault, ...]]:
    """Return the rows that are sound by themselves, and what is wrong with the others."""
    sound: list[Row] = []
    faults: list[MatrixFault] = []
    for position, row in enumerate(rows):
        messages = tuple(_check_row(table, row))
        faults += (MatrixFault(table, _key(table, row, position), message) for message in messages)
        if not messages:
            sound.append(row)
    return tuple(sound), tuple(faults)


def _check_rows(table: str, rows: Sequence[Any]) -> Iterator[MatrixFault]:
    for position, row in enumerate(rows):
        for message in _check_row(table, row):
            yield MatrixFault(table, _key(table, row, position), message)


def _check_row(table: str, row: Any) -> Iterator[str]:
    if not isinstance(row, Mapping):
        yield tr("not an object")
        return
    if table not in FIELDS:
        return
    kinds = FIELDS[table]
    kind = None if None in kinds else row.get("kind")
    if not isinstance(kind, str | None) or kind not in kinds:
        facts = {"value": kind, "allowed": series(map(str, kinds))}
        yield "`kind`: " + tr("{value!r} is not one of {allowed}", **facts)
        return
    wrong = tuple(check_fields(row, kinds[kind]))
    yield from wrong
    if not wrong and row.get("evidence") == "wheel" and not _WHEEL.search(row["source"]):
        yield tr("`source`: names no wheel, which `evidence` says was read")


def _key(table: str, row: Any, position: int) -> str:
    return known_key(table, row) or tr("row {number}", number=position + 1)


def _check_duplicates(table: str, rows: Iterable[Row]) -> Iterator[MatrixFault]:
    if table not in FIELDS:
        return
    seen: dict[str, Row] = {}
    for row in rows:
        key = row_key(table, row)
        if key in seen:
            alike = seen[key] == row
            message = tr("stands there twice") if alike else tr("stands there twice, and the two differ")
            yield MatrixFault(table, key, message)
        seen[key] = row


def _compare(tables: Mapping[str, Sequence[Row]]) -> Iterator[MatrixFault]:
    for check in CROSS_CHECKS:
        if all(needed in tables for needed in check.tables):
            for row, message in check.run(*(tables[needed] for needed in check.tables)):
                yield MatrixFault(check.tables[0], row_key(check.tables[0], row), message)
