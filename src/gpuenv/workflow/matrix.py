"""`gpuenv matrix`: look at the matrices, and validate them."""

from __future__ import annotations

import difflib
from typing import Any

from gpuenv import matrices
from gpuenv.core.matrix_check import MatrixFault, check_matrices
from gpuenv.values.errors import Because, Fix, UsageError
from gpuenv.values.text import tr


def show_matrix(table: str) -> tuple[dict[str, Any], ...]:
    """Return the rows of a table; raise UsageError for an unknown one, or one that can't be read."""
    if table not in matrices.TABLES:
        raise _unknown(table)
    try:
        return matrices.load(table)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            tr("the matrix `{table}` can't be read", table=table),
            code="matrix-unreadable",
            because=(Because(_reason(error), f"{table}.json"),),
            fixes=(Fix(tr("install gpuenv again"), None),),
        ) from error


def check_matrix() -> tuple[MatrixFault, ...]:
    """Read every table and return what is wrong with them; a file that can't be read is a fault too."""
    faults: list[MatrixFault] = []
    tables: dict[str, tuple[dict[str, Any], ...]] = {}
    for table in matrices.TABLES:
        match _read(table):
            case MatrixFault() as fault:
                faults.append(fault)
            case rows:
                tables[table] = rows
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
