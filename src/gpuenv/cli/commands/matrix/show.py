"""`gpuenv matrix show` and `matrix check`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from msgspec import to_builtins

from gpuenv import matrices
from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.i18n.messages import N_, tr
from gpuenv.matrix.show import check_matrix, show_matrix
from gpuenv.matrix_checks.keys import MatrixFault, MatrixNote
from gpuenv.model.errors import Because, UsageError

_FEW = 4
_COLUMNS = {
    "torch": "torch variant platform index pythons architectures cudnn evidence",
    "cuda": "kind cuda release major os branch architecture linux windows source",
    "gpus": "name compute_capability architecture pci_ids source",
    "companions": "kind torch project versions version specifier basis requires_torch requires_python "
    "evidence",
    "known-bad": "id judge effect remedy source",
    "libraries": "kind library counts from major torch cuda version min_compute_capability source",
    "dependencies": "kind torch variant index project version platform size installed evidence requires",
    "conda": "channel torch variant platform pythons architectures build requires channels source",
    "signatures": "id class priority cause_en evidence",
    "checks": "id group title common source",
    "pythons": "version released uv source",
    "images": "repository tag flavour distribution glibc python cuda source",
    "ecosystem": "kind set project by torch variant platform version requires_torch page source",
    "api-changes": "id project version kind names text_en source",
    "accelerator-devices": "vendor name kind architecture chip pci_vendor pci_id revision discrete source",
    "accelerator-architectures": "kind architecture chip generation code extra products supported evidence",
    "accelerator-builds": "torch variant platform index torch_npu pythons targets requires evidence",
    "accelerator-indexes": "kind id index accelerator address platforms vendor package where source",
    "accelerator-known-bad": "id judge when effect remedy source",
    "kernel-drivers": "kind driver module drivers rocm fails source",
    "jetson": "boards l4t jetpack cuda python userspace torch_from evidence",
    "mirrors": "name title kind status aliases hosts missing_status source",
}


def list_tables(console: Console) -> int:
    """Print which matrices there are, and how many rows each has."""
    tables = [{"name": table, "rows": len(show_matrix(table, os.environ))} for table in matrices.TABLES]
    if console.as_json:
        return console.print_json("matrix show", {"tables": tables})
    print_data(render_table(tables, {"name": N_("table"), "rows": N_("rows")}))
    console.note(
        tr("hint: {fix}", fix=tr("show one of them: `{command}`", command="gpuenv matrix show torch")), "hint"
    )
    return 0


def show(table: str, console: Console) -> int:
    """Print the rows of a matrix."""
    rows = show_matrix(table, os.environ)
    if console.as_json:
        return console.print_json("matrix show", {"table": table, "rows": list(rows)})
    print_data(render_table(rows, _COLUMNS[table].split(), width=terminal_width()))
    return 0


def show_page(path: Path, console: Console) -> int:
    """Write the matrices as an HTML page."""
    from gpuenv.matrix.write_page import write_matrix_page  # noqa: PLC0415 - only where it is drawn

    written = write_matrix_page(path, os.environ)
    if console.as_json:
        data = {"file": str(written.path), "bytes": written.size, "machine": written.machine is not None}
        return console.print_json("matrix show", data, written.warnings)
    console.warn(written.warnings)
    console.note(tr("wrote {file}", file=written.path))
    return 0


def check(console: Console, against: Path | None = None) -> int:
    """Validate the matrices; faults are bad input (exit 2), notes are printed."""
    checked = check_matrix(os.environ, against)
    data = {"faults": list(map(to_builtins, checked.faults)), "notes": list(map(to_builtins, checked.notes))}
    if checked.faults:
        raise UsageError(
            tr("the matrices have {count} errors", count=len(checked.faults)),
            code="matrix-faults",
            because=tuple(Because(_say(item), item.table) for item in checked.faults),
            data=data,
        )
    if console.as_json:
        return console.print_json("matrix check", data)
    if not console.quiet:
        _print_notes(checked.notes, all_of_them=console.verbose)
    console.note(tr("the matrices are valid"))
    return 0


def _say(item: MatrixFault | MatrixNote) -> str:
    return tr("{row}: {message}", row=item.row_key, message=item.message)


def _print_notes(notes: Iterable[MatrixNote], *, all_of_them: bool) -> None:
    """Print the notes kind by kind; of a kind with many, the first few."""
    for _, alike in groupby(notes, lambda item: item.code):
        kind = tuple(alike)
        shown = kind if all_of_them or len(kind) <= _FEW else kind[: _FEW - 1]
        for item in shown:
            print_data(f"{item.table} {_say(item)}")
        if len(shown) < len(kind):
            left = len(kind) - len(shown)
            print_data(
                tr("{table}: {count} more such notes; use -v to show them", table=kind[0].table, count=left)
            )
