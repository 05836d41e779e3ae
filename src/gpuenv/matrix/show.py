"""`gpuenv matrix`: look at the matrices, and validate them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuenv import matrices
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.schema.tables import FIELDS
from gpuenv.matrix_checks.keys import MatrixFault, MatrixNote, Row
from gpuenv.matrix_checks.manifest import MANIFEST, shrunk, vanished
from gpuenv.matrix_checks.notes import note_matrices
from gpuenv.matrix_checks.run import check_matrices
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.planning.matrix_overlay import Overlay, laid_over, overlay_directory, read_overlay

Tables = Mapping[str, tuple[Row, ...]]
_CHECKED = tuple(FIELDS)


def show_matrix(table: str, environ: Mapping[str, str] | None = None) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of a table and the overlay's; UsageError for one unknown, or that can't be read."""
    if table not in matrices.TABLES:
        raise _unknown(table)
    try:
        shipped = {table: matrices.load(table)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            tr("the matrix `{table}` cannot be read", table=table),
            code="matrix-unreadable",
            because=(Because(_reason(error), f"{table}.json"),),
            fixes=(Fix(tr("reinstall gpuenv"), None),),
        ) from error
    overlay = Overlay({}) if environ is None else read_overlay(overlay_directory(environ))
    return laid_over(shipped, overlay).tables[table]


class MatrixProblems(Struct, frozen=True):
    """What is wrong with the matrices, and what is worth knowing of them where nothing is."""

    faults: tuple[MatrixFault, ...]
    notes: tuple[MatrixNote, ...]


def check_matrix(environ: Mapping[str, str] | None = None, against: Path | None = None) -> MatrixProblems:
    """Read every table, the overlay's rows over it, and return what is wrong with them, and notes.

    A file that can't be read is a fault too, and so are a row of the overlay that has to be passed over, a
    table with fewer rows than the manifest counts, and every row that another copy (`against`) has besides.
    Raises UsageError where there is no such copy.
    """
    faults: list[MatrixFault] = []
    shipped = _read_all(matrices.directory(), faults)
    faults += _compare_counts(shipped)
    if against is not None:
        faults += _vanished(against, shipped)
    tables = shipped
    if environ is not None:
        overlay = laid_over(shipped, read_overlay(overlay_directory(environ)))
        tables = dict(overlay.tables)
        faults += (MatrixFault("overlay", warning.code, warning.message) for warning in overlay.warnings)
    faults += check_matrices(tables)
    return MatrixProblems(tuple(faults), () if faults else note_matrices(tables))


def _read_all(directory: Path, faults: list[MatrixFault]) -> dict[str, tuple[Row, ...]]:
    tables: dict[str, tuple[Row, ...]] = {}
    for table in _CHECKED:
        match _read(directory, table):
            case MatrixFault() as fault:
                faults.append(fault)
            case rows:
                tables[table] = rows
    return tables


def _read(directory: Path, table: str) -> tuple[dict[str, Any], ...] | MatrixFault:
    try:
        return matrices.read(directory, table)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return MatrixFault(table, f"{table}.json", _reason(error))


def _compare_counts(tables: Tables) -> tuple[MatrixFault, ...]:
    manifest = _read(matrices.directory(), MANIFEST)
    if isinstance(manifest, MatrixFault):
        return (manifest,)
    sound = {table: rows for table, rows in tables.items() if not check_matrices({table: rows})}
    return tuple(shrunk(sound, manifest))


def _vanished(copy: Path, shipped: Tables) -> tuple[MatrixFault, ...]:
    """Return the rows that a copy of the matrices has besides; it may lack tables that came later."""
    unread: list[MatrixFault] = []
    tables = _read_all(copy, unread)
    garbled = [fault.message for fault in unread if (copy / fault.row_key).exists()]
    if tables and not garbled:
        try:
            return tuple(vanished(tables, shipped, str(copy)))
        except ValueError as error:
            garbled = [reason_of(error)]
    raise UsageError(
        tr("`{place}` does not contain a copy of the matrices", place=copy),
        code="no-matrices",
        because=tuple(Because(reason, str(copy)) for reason in garbled),
        fixes=(Fix(tr("name a directory with torch.json and the other tables in it")),),
    )


def _unknown(table: str) -> UsageError:
    near = difflib.get_close_matches(table.lower(), matrices.TABLES, n=1)
    fixes = (
        [Fix(tr("did you mean `{table}`?", table=near[0]), f"gpuenv matrix show {near[0]}")] if near else []
    )
    fixes.append(Fix(tr("the tables are {tables}", tables=series(f"`{name}`" for name in matrices.TABLES))))
    return UsageError(
        tr("there is no matrix `{table}`", table=table), code="unknown-table", fixes=tuple(fixes)
    )


def _reason(error: Exception) -> str:
    match error:
        case OSError():
            return tr("the file cannot be read: {error}", error=reason_of(error))
        case KeyError() | TypeError():
            return tr("the file has no rows")
        case _:
            return tr("the file is not valid JSON: {error}", error=reason_of(error))
