"""`gpuenv matrix`: look at the matrices, and validate them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from gpuenv import matrices
from gpuenv.core.matrix_check import MatrixFault, check_matrices
from gpuenv.values.errors import Because, Fix, UsageError
from gpuenv.values.text import tr
from gpuenv.workflow.overlay import Overlay, laid_over, overlay_directory, read_overlay


def show_matrix(table: str, environ: Mapping[str, str] | None = None) -> tuple[Mapping[str, Any], ...]:
    """Return the rows of a table and the overlay's; UsageError for one unknown, or that can't be read."""
    if table not in matrices.TABLES:
        raise _unknown(table)
    try:
        shipped = {table: matrices.load(table)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            tr("the matrix `{table}` can't be read", table=table),
            code="matrix-unreadable",
            because=(Because(_reason(error), f"{table}.json"),),
            fixes=(Fix(tr("install gpuenv again"), None),),
        ) from error
    overlay = Overlay({}) if environ is None else read_overlay(overlay_directory(environ))
    return laid_over(shipped, overlay).tables[table]


def check_matrix(environ: Mapping[str, str] | None = None) -> tuple[MatrixFault, ...]:
    """Read every table, the overlay's rows over it, and return what is wrong with them.

    A file that can't be read is a fault too, and so is a row of the overlay that has to be passed over.
    """
    faults: list[MatrixFault] = []
    tables: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for table in matrices.TABLES:
        match _read(table):
            case MatrixFault() as fault:
                faults.append(fault)
            case rows:
                tables[table] = rows
    if environ is not None:
        overlay = laid_over(tables, read_overlay(overlay_directory(environ)))
        tables = dict(overlay.tables)
        faults += (MatrixFault("overlay", warning.code, warning.message) for warning in overlay.warnings)
    return (*faults, *check_matrices(tables))


def _read(table: str) -> tuple[dict[str, Any], ...] | MatrixFault:
    try:
        return matrices.load(table)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return MatrixFault(table, f"{table}.json", _reason(error))


def _unknown(table: str) -> UsageError:
    near = difflib.get_close_matches(table.lower(), matrices.TABLES, n=1)
    fixes = (
        [Fix(tr("did you mean `{table}`?", table=near[0]), f"gpuenv matrix show {near[0]}")] if near else []
    )
    fixes.append(
        Fix(tr("the tables are {tables}", tables=", ".join(f"`{name}`" for name in matrices.TABLES)))
    )
    return UsageError(
        tr("there is no matrix `{table}`", table=table), code="unknown-table", fixes=tuple(fixes)
    )


def _reason(error: Exception) -> str:
    match error:
        case OSError():
            return tr("the file can't be read: {error}", error=error.strerror or error)
        case KeyError() | TypeError():
            return tr("the file holds no rows")
        case _:
            return tr("the file is no JSON: {error}", error=error)
