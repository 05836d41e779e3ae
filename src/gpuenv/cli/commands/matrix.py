"""`gpuenv matrix show` and `matrix check`."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_data, print_json, print_warnings
from gpuenv.cli.table import render_table
from gpuenv.values.errors import Because, UsageError
from gpuenv.values.text import tr
from gpuenv.workflow.matrix import check_matrix, show_matrix

_COLUMNS = {
    "torch": ("torch", "variant", "platform", "index", "pythons", "architectures", "cudnn", "evidence"),
    "cuda": (
        "kind",
        "cuda",
        "release",
        "major",
        "os",
        "branch",
        "architecture",
        "linux",
        "windows",
        "source",
    ),
    "gpus": ("name", "compute_capability", "architecture", "pci_ids", "source"),
    "companions": ("kind", "torch", "project", "versions", "version", "specifier", "requires_python"),
    "known-bad": ("id", "judge", "effect", "remedy", "source"),
    "libraries": (
        "kind",
        "library",
        "counts",
        "from",
        "torch",
        "cuda",
        "version",
        "min_compute_capability",
        "source",
    ),
}


def show(table: str, common: Common) -> int:
    """Print the rows of a matrix."""
    rows = show_matrix(table, os.environ)
    if common.as_json:
        print_json(envelope("matrix show", {"table": table, "rows": list(rows)}))
    else:
        print_data(render_table(rows, _COLUMNS[table]))
    return 0


def show_page(path: Path, common: Common) -> int:
    """Write the matrices as a page for people who look rather than read."""
    from gpuenv.workflow.matrix_page import write_matrix_page  # noqa: PLC0415 - only where it is drawn

    written = write_matrix_page(path, os.environ)
    if common.as_json:
        data = {"file": str(written.path), "bytes": written.size, "machine": written.machine is not None}
        print_json(envelope("matrix show", data, warnings=written.warnings))
    elif not common.quiet:
        print_warnings(written.warnings)
        note(tr("wrote {file}", file=written.path))
    return 0


def check(common: Common) -> int:
    """Validate the matrices; faults are bad input (exit 2)."""
    faults = check_matrix(os.environ)
    if faults:
        raise UsageError(
            tr("the matrices have {count} faults", count=len(faults)),
            code="matrix-faults",
            because=tuple(
                Because(tr("{row}: {message}", row=item.row_key, message=item.message), item.table)
                for item in faults
            ),
            data={"faults": [asdict(item) for item in faults]},
        )
    if common.as_json:
        print_json(envelope("matrix check", {"faults": []}))
    elif not common.quiet:
        note(tr("the matrices hold"))
    return 0
