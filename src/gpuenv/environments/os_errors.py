"""What the system refused, told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuenv.environments.folders.full_disk import CODE, because_of, is_full, ways_out
from gpuenv.environments.store import EnvironmentPaths
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed


@contextmanager
def telling_os_errors(environment: EnvironmentPaths) -> Iterator[None]:
    """Raise InstallFailed for an OSError within."""
    try:
        yield
    except OSError as error:
        raise os_error_told(environment.path, error) from error


def os_error_told(path: Path, error: OSError) -> InstallFailed:
    """Say what the system refused."""
    where = error.filename if isinstance(error.filename, str) else path
    if is_full(error):
        return InstallFailed(
            tr("the disk is full: `{path}` cannot be written", path=where),
            code=CODE,
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
