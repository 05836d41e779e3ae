"""A disk that takes no more: how it is recognised, and what makes room on it."""

from __future__ import annotations

import errno
from pathlib import Path

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix

CODE = "disk-full"
_FULL = frozenset((errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)))


def is_full(error: OSError) -> bool:
    """Tell whether it is room (bytes, files, or what a quota allows) that was missing."""
    return error.errno in _FULL


def free_in(path: Path) -> str:
    """Return how much is free where a path lies, as a person reads it."""
    from gpuenv.files.disk_space import free_bytes  # noqa: PLC0415
    from gpuenv.model.amounts import render_size  # noqa: PLC0415 - only where something went wrong

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
