"""Changes that were interrupted: `doctor` reports them, `doctor --fix` undoes or completes them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from gpuenv.environments import transaction
from gpuenv.environments.file_lock import busy, locked
from gpuenv.environments.listing import place_of
from gpuenv.environments.pending import is_at_work, is_half_done, is_pending
from gpuenv.environments.store import find_store, is_path
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError, VerificationFailed
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.verification.locate import environment_of


def place_at(root: Path, environ: Mapping[str, str]) -> EnvironmentPaths:
    """Return the place of an environment by its directory: as the other commands know it."""
    store = find_store(environ)
    real = Path(os.path.realpath(root))
    if os.path.realpath(store.environments) == str(real.parent):
        return EnvironmentPaths(store, real.name, store.environments / real.name)
    return EnvironmentPaths(store, str(real), real)


def place_meant(env: str, environ: Mapping[str, str]) -> EnvironmentPaths | None:
    """Return the place that ENV names (a name, a directory or a Python), which may be gone."""
    try:
        if not is_path(env):
            environment = place_of(env, environ)
            if is_pending(environment):
                return environment
        path = Path(os.path.abspath(os.path.expanduser(env)))  # noqa: PTH100, PTH111 - links must stay
        is_python = path.parent.name in {"bin", "Scripts"} and not path.is_dir()
        return place_at((environment_of(path) or path.parent.parent) if is_python else path, environ)
    except UsageError as error:
        if error.code in {"journal-unreadable", "not-own"}:
            raise
        return None  # not a name: reported where it is looked up
    except (OSError, ValueError):
        return None


def refuse_half_changed(environment: EnvironmentPaths) -> None:
    """Raise VerificationFailed (exit 6) where a place is half changed, UsageError `environment-busy`."""
    if not is_half_done(environment):
        return
    if is_at_work(environment):
        raise busy(environment)
    raise VerificationFailed(
        tr("a change of `{name}` was interrupted", name=environment.name),
        code="change-interrupted",
        because=(Because(tr("the environment there is only partly changed"), str(environment.path)),),
        fixes=(mending(environment), Fix(tr("or run the command again that was interrupted"))),
        data={"environment": str(environment.path), "root": None, "checks": []},
    )


def mending(environment: EnvironmentPaths) -> Fix:
    """Return the command that mends it."""
    command = f"gpuenv doctor {shlex.quote(environment.name)} --fix"
    return Fix(tr("undo or complete the interrupted change"), command)


def mend(environment: EnvironmentPaths) -> bool:
    """Undo or finish an interrupted change; return whether there was one.

    Raises UsageError where another gpuenv is at work on it, or where it is not gpuenv's own; InstallFailed
    where it fails.
    """
    if not is_pending(environment):
        return False
    with locked(environment, wait_s=0):
        return transaction.recover(environment)
