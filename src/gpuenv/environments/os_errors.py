"""Errors of the system, a full disk above all, as errors of gpuenv."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.on_disk.directories import is_full
from gpuenv.on_disk.places import EnvironmentPaths

DISK_FULL = "disk-full"


def free_in(path: Path) -> str:
    """Return how much is free where a path lies, as a person reads it."""
    from gpuenv.files.disk_space import free_bytes  # noqa: PLC0415
    from gpuenv.i18n.amounts import render_size  # noqa: PLC0415 - only where something went wrong

    free = free_bytes(path)
    return "?" if free is None else render_size(free)


def because_of(path: Path, error: OSError) -> tuple[Because, ...]:
    """Return what the system said, and how much is free: where that is much, something else is used up."""
    free = tr("{free} are free; a quota or the number of files may be exhausted", free=free_in(path))
    return Because(str(error), str(path)), Because(free, str(path))


def ways_out() -> tuple[Fix, ...]:
    """Return what makes room and needs none itself, and the way round."""
    return (
        Fix(tr("free disk space: clean the cache"), "gpuenv cache clean"),
        Fix(tr("or remove an environment"), "gpuenv remove NAME"),
        Fix(tr("or set GPUENV_DATA_DIR to a directory on a larger disk")),
    )


@contextmanager
def converting_os_errors(environment: EnvironmentPaths) -> Iterator[None]:
    """Raise InstallFailed for an OSError within."""
    try:
        yield
    except OSError as error:
        raise convert_os_error(environment.path, error) from error


def convert_os_error(path: Path, error: OSError) -> InstallFailed:
    """Say what the system refused."""
    where = error.filename if isinstance(error.filename, str) else path
    if is_full(error):
        return InstallFailed(
            tr("the disk is full: `{path}` cannot be written", path=where),
            code=DISK_FULL,
            because=because_of(path, error),
            fixes=ways_out(),
        )
    return InstallFailed(
        tr("`{path}`: {error}", path=where, error=reason_of(error)),
        code="not-writable",
        because=(Because(str(error), str(path)),),
        fixes=(Fix(tr("choose a location that you may write to: `./NAME`")),),
    )


def not_undone(environment: EnvironmentPaths, error: OSError) -> InstallFailed:
    """Say that a change could not be undone; its journal stays, so that it is tried again."""
    return InstallFailed(
        tr("`{name}` could not be restored: {error}", name=environment.name, error=reason_of(error)),
        code="roll-back-failed",
        because=(Because(str(error), str(environment.path)),),
        fixes=(Fix(tr("fix that; the next gpuenv command on it tries again"), "gpuenv list"),),
    )
