"""The environments gpuenv made: list them, run a command in one, remove one."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuenv import process
from gpuenv.environments import apply, elsewhere
from gpuenv.environments.journal import pending_places
from gpuenv.environments.listing import Environment, find_environment, list_environments
from gpuenv.environments.lock import WAIT_S, busy, locked
from gpuenv.environments.store import Place, find_place, find_store
from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.text import tr

_BIN = "Scripts" if os.name == "nt" else "bin"


def list_all(environ: Mapping[str, str]) -> tuple[Environment, ...]:
    """Return all environments but those being made; what a killed gpuenv left is mended first."""
    store = find_store(environ)
    at_work = {place.path for place in pending_places(store) if not apply.recover_if_idle(place)}
    return tuple(one for one in list_environments(store) if one.place.path not in at_work)


def render_environment(environment: Environment) -> dict[str, Any]:
    """Return an environment as data of `gpuenv list`."""
    place, record = environment.place, environment.record
    torch = record.package("torch") or {}
    return {
        "name": place.name,
        "path": str(place.path),
        "manager": record.manager,
        "torch": torch.get("version"),
        "variant": record.planned("variant"),
        "python": record.planned("python"),
        "verified": record.verified,
    }


def run(name: str, argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a command in an environment, as if it were active; return the command's exit code.

    Raises UsageError for an unknown environment and a command that can't be started.
    """
    environment = _existing(name, environ)
    try:
        return process.hand_over(argv, activated(environment.place.path, environ))
    except OSError as error:
        raise UsageError(
            tr("`{program}` can't be started: {error}", program=argv[0], error=error.strerror or error),
            code="command-not-found",
            fixes=(Fix(tr("see what is in {directory}", directory=environment.place.path / _BIN)),),
        ) from None


def activated(path: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables as the environment's activate script would set them."""
    variables = {name: value for name, value in environ.items() if name != "PYTHONHOME"}
    variables["VIRTUAL_ENV"] = str(path)
    before = variables.get("PATH", os.defpath)
    variables["PATH"] = os.pathsep.join((str(path / _BIN), before)) if before else str(path / _BIN)
    return variables


def check_removable(name: str, environ: Mapping[str, str]) -> Place:
    """Return what `remove` would remove; raise UsageError early where it would refuse."""
    place = find_place(name, environ)
    if not apply.is_pending(place):
        _known(name, environ)
    return place


def remove(name: str, environ: Mapping[str, str], *, wait_s: float = WAIT_S) -> Place:
    """Remove an environment that gpuenv made, or what a killed gpuenv left of one.

    Raises UsageError for an unknown or busy one, InstallFailed where the system refuses.
    """
    place = check_removable(name, environ)
    with locked(place, wait_s=wait_s):
        recovered = apply.recover(place)
        if find_environment(name, environ) is None:
            if not recovered:
                raise _unknown(name, environ)
        else:
            apply.remove(place)
        elsewhere.forget(place)
    return place


def _existing(name: str, environ: Mapping[str, str]) -> Environment:
    place = find_place(name, environ)
    if apply.is_pending(place) and not apply.recover_if_idle(place):
        raise busy(place)
    return _known(name, environ)


def _known(name: str, environ: Mapping[str, str]) -> Environment:
    found = find_environment(name, environ)
    if found is None:
        raise _unknown(name, environ)
    return found


def _unknown(name: str, environ: Mapping[str, str]) -> UsageError:
    names = [one.place.name for one in list_environments(find_store(environ))]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    meant = Fix(tr("did you mean {names}?", names=", ".join(f"`{one}`" for one in close)))
    return UsageError(
        tr("gpuenv made no environment `{name}`", name=name),
        code="unknown-environment",
        fixes=(meant,) if close else (Fix(tr("see which there are"), "gpuenv list"),),
    )
