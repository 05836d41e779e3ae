"""What the system refused, told."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuenv.environments.store import Place
from gpuenv.values.errors import Because, Fix, InstallFailed
from gpuenv.values.system_words import reason_of
from gpuenv.values.text import tr

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def telling_os_errors(place: Place) -> Iterator[None]:
    """Raise InstallFailed for an OSError within."""
    try:
        yield
    except OSError as error:
        raise os_error_told(place.path, error) from error


def os_error_told(path: Path, error: OSError) -> InstallFailed:
    """Say what the system refused."""
    where = error.filename if isinstance(error.filename, str) else path
    full = error.errno in _FULL
    return InstallFailed(
        tr("the disk is full") if full else tr("`{path}`: {error}", path=where, error=reason_of(error)),
        code="disk-full" if full else "not-writable",
        because=(Because(str(error), str(path)),),
        fixes=(Fix(tr("make room") if full else tr("choose a place that you may write to: `./NAME`")),),
    )


def not_undone(place: Place, error: OSError) -> InstallFailed:
    """Say that a change could not be undone; its journal stays, so that it is tried again."""
    return InstallFailed(
        tr("`{name}` could not be brought back: {error}", name=place.name, error=reason_of(error)),
        code="roll-back-failed",
        because=(Because(str(error), str(place.path)),),
        fixes=(Fix(tr("mend that; the next gpuenv command on it tries again"), "gpuenv list"),),
    )
