"""The overlay: rows that a refresh found, kept in the user's data directory, which override those shipped."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuenv import matrices
from gpuenv.environments.store import find_store, unwritable
from gpuenv.files.private import make_private_folder
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.plan import PlanWarning

Row = Mapping[str, Any]
Tables = Mapping[str, tuple[Row, ...]]

_LOCK_WAIT_S = 10.0
_LAID_OVER = (*matrices.DECIDING, *matrices.BESIDE)


class Overlay(Struct, frozen=True, eq=False):
    """The valid rows of a folder of matrices by table, and warnings of those ignored."""

    tables: Tables
    warnings: tuple[PlanWarning, ...] = ()


def overlay_directory(environ: Mapping[str, str]) -> Path:
    """Return where the overlay is kept."""
    return find_store(environ).root / "matrices"


def read_overlay(directory: Path) -> Overlay:
    """Read the matrices of a folder; a garbled file or row is ignored with a warning."""
    tables: dict[str, tuple[Row, ...]] = {}
    warnings: list[PlanWarning] = []
    for table in _LAID_OVER:
        try:
            rows = matrices.read(directory, table)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            warnings.append(_ignored(directory / f"{table}.json", reason_of(error)))
            continue
        tables[table], faults = _sound(table, rows)
        warnings += (_ignored(directory / f"{table}.json", fault) for fault in faults)
    return Overlay(tables, tuple(warnings))


def _sound(table: str, rows: tuple[Any, ...]) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    from gpuenv.matrix_checks.run import sound_rows  # noqa: PLC0415 - only where there is an overlay

    sound, faults = sound_rows(table, rows)
    return sound, tuple(f"{fault.row_key}: {fault.message}" for fault in faults)


def _ignored(path: Path, reason: str) -> PlanWarning:
    return PlanWarning(
        "overlay-ignored",
        tr("`{path}` is skipped where it cannot be read: {reason}", path=path, reason=reason),
    )


def load_tables(environ: Mapping[str, str] | None = None) -> Overlay:
    """Return all tables, the overlay's rows over those shipped; once for each state of its files."""
    if environ is None:
        return _shipped()
    directory = overlay_directory(environ)
    stamps = tuple(_stamp(directory / f"{table}.json") for table in _LAID_OVER)
    return _merged(directory, stamps) if any(stamps) else _shipped()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@cache
def _shipped() -> Overlay:
    return Overlay({table: matrices.load(table) for table in matrices.DECIDING})


@cache
def _merged(directory: Path, stamps: tuple[tuple[int, int] | None, ...]) -> Overlay:  # noqa: ARG001 - the key
    return laid_over(_shipped().tables, read_overlay(directory))


def laid_over(tables: Tables, overlay: Overlay) -> Overlay:
    """Return the tables with the overlay's rows over them."""
    from gpuenv.matrix_checks.serialise import merge_rows  # noqa: PLC0415 - only where there is an overlay

    merged = {table: merge_rows(table, tables.get(table, ()), rows) for table, rows in overlay.tables.items()}
    return Overlay({**tables, **merged}, overlay.warnings)


def save_rows(directory: Path, mappings: Tables, environ: Mapping[str, str]) -> None:
    """Merge rows into the files of a folder: each is replaced whole, and no other gpuenv writes meanwhile.

    Raises UsageError where that can't be done, or a file there is none of the matrices.
    """
    from gpuenv.matrix_checks.manifest import MANIFEST, updated  # noqa: PLC0415
    from gpuenv.matrix_checks.serialise import DENSE, merge_rows, render_table  # noqa: PLC0415

    with _locked(directory, environ):
        merged = {
            table: merge_rows(table, _rows_in(directory, table), rows)
            for table, rows in mappings.items()
            if rows
        }
        for table, rows in merged.items():
            _replace(directory / f"{table}.json", render_table(rows, dense=table in DENSE))
        manifest = directory / f"{MANIFEST}.json"  # the overlay has none
        if manifest.exists():
            _replace(manifest, render_table(updated(_rows_in(directory, MANIFEST), merged)))


def set_aside_garbled(environ: Mapping[str, str]) -> None:
    """Rename the overlay's files that hold garbled rows, so that a refresh can begin anew with the others."""
    from gpuenv.matrix_checks.serialise import render_table  # noqa: PLC0415

    directory = overlay_directory(environ)
    for table in _LAID_OVER:
        path = directory / f"{table}.json"
        try:
            sound, faults = _sound(table, matrices.read(directory, table))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            sound, faults = (), ("",)
        if faults:
            with _locked(directory, environ):
                path.replace(path.with_suffix(".garbled"))
                if sound:
                    _replace(path, render_table(sound))


def _rows_in(directory: Path, table: str) -> tuple[Row, ...]:
    try:
        return matrices.read(directory, table)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            tr("`{path}` does not contain a matrix", path=directory / f"{table}.json"),
            code="matrix-unreadable",
            because=(Because(reason_of(error), f"{table}.json"),),
            fixes=(Fix(tr("name another directory, or remove the file")),),
        ) from None


@contextmanager
def _locked(directory: Path, environ: Mapping[str, str]) -> Iterator[None]:
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only where something is written

    locks = find_store(environ).locks
    try:
        directory.mkdir(parents=True, exist_ok=True)
        make_private_folder(locks)
        name = hashlib.sha256(os.fsencode(directory.absolute())).hexdigest()[:24]
        with FileLock(locks / f"matrices-{name}.lock", timeout=_LOCK_WAIT_S):
            yield
    except Timeout:
        raise UsageError(
            tr("another gpuenv is at work on `{name}`", name=directory), code="matrices-busy"
        ) from None
    except OSError as error:
        raise unwritable(directory, error) from None


def _replace(path: Path, text: str) -> None:
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(beside, 0o644)  # noqa: PTH101 - mkstemp's own is the user's alone
        os.replace(beside, path)  # noqa: PTH105 - atomic
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
