"""The environments that gpuenv created, as those find them that change nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuenv.environments.journal import is_half_done as is_journal_half_done
from gpuenv.environments.journal import pending_places, read_journal
from gpuenv.environments.ledger import noted_paths
from gpuenv.environments.listing import Environment, find_environment, list_environments, place_of
from gpuenv.environments.pending import is_at_work, is_half_done, is_pending
from gpuenv.environments.record import read_record
from gpuenv.environments.store import find_store, is_path
from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import Fix, UsageError, VerificationFailed
from gpuenv.on_disk.places import EnvironmentPaths

if TYPE_CHECKING:
    from gpuenv.model.plan import PlanWarning


def list_all(environ: Mapping[str, str]) -> tuple[Environment, ...]:
    """Return all environments but those being made, and those of which a kill left only a half."""
    store = find_store(environ)
    hidden = {environment.path for environment in pending_places(store) if _hides(environment)}
    return tuple(
        environment for environment in list_environments(store) if environment.paths.path not in hidden
    )


def _hides(environment: EnvironmentPaths) -> bool:
    journal = read_journal(environment)
    return (journal is not None and is_journal_half_done(journal)) or is_at_work(environment)


def list_interrupted(environ: Mapping[str, str]) -> tuple[EnvironmentPaths, ...]:
    """Return where a killed gpuenv left a change that is neither whole nor undone."""
    store = find_store(environ)
    inside = (EnvironmentPaths(store, path.name, path) for path in noted_paths(store))
    noted = {os.path.realpath(item.paths.path): item.paths for item in list_environments(store)}
    changed = (*pending_places(store), *(noted.get(str(item.path), item) for item in inside))
    places = {environment.path: environment for environment in changed}.values()
    return tuple(item for item in places if _is_pending(item) and not is_at_work(item))


def _is_pending(environment: EnvironmentPaths) -> bool:
    try:
        return is_pending(environment)
    except UsageError:  # not gpuenv's own: reported where it is changed
        return False


def interrupted(environment: EnvironmentPaths) -> PlanWarning:
    """Return the warning of an interrupted change, which reading does not undo."""
    from gpuenv.model.plan import PlanWarning  # noqa: PLC0415 - where there is one
    from gpuenv.operations.interrupted_change import mending  # noqa: PLC0415

    command = mending(environment).command
    text = tr("a change of `{name}` was interrupted: `{command}`", name=environment.name, command=command)
    return PlanWarning("change-interrupted", text)


def refuse_interrupted(environment: EnvironmentPaths) -> None:
    """Raise UsageError where a change is in progress or was interrupted."""
    if not is_half_done(environment):
        return
    from gpuenv.operations.interrupted_change import refuse_half_changed  # noqa: PLC0415 - where there is one

    try:
        refuse_half_changed(environment)
    except VerificationFailed as error:
        raise UsageError(error.message, code=error.code, because=error.because, fixes=error.fixes) from None


def unreadable(environment: Environment) -> PlanWarning | None:
    """Return the warning of an environment whose record cannot be read."""
    name, problem = environment.paths.name, environment.record.problem
    if problem is None:
        return None
    from gpuenv.model.plan import PlanWarning  # noqa: PLC0415 - where there is one

    text = tr("the record of `{name}` cannot be read: {problem}", name=name, problem=problem)
    hint = tr("it still works unchanged; `gpuenv create {name} --force` recreates it", name=shlex.quote(name))
    return PlanWarning("record-unreadable", f"{text}; {hint}")


def outdated(row: Mapping[str, Any]) -> PlanWarning | None:
    """Return the warning of an environment, as data of `gpuenv list`, that should be verified anew."""
    if not row["outdated"]:
        return None
    from gpuenv.model.plan import PlanWarning  # noqa: PLC0415 - where there is one

    return PlanWarning("proof-outdated", row["outdated"])


def render_environment(environment: Environment) -> dict[str, Any]:
    """Return an environment as data of `gpuenv list`."""
    paths, record = environment.paths, environment.record
    torch = record.package("torch") or {}
    return {
        "name": paths.name,
        "path": str(paths.path),
        "manager": record.manager or None,
        "torch": torch.get("version"),
        "variant": record.planned("variant"),
        "python": record.planned("python"),
        "verified": record.verified,
    }


def existing(name: str, environ: Mapping[str, str]) -> Environment:
    """Return an environment that gpuenv made, to look at it or run it.

    Raises UsageError for an unknown one, one being made, and one of which a kill left only a half.
    """
    environment = place_of(name, environ)
    refuse_interrupted(environment)
    return known(name, environ)


def known(name: str, environ: Mapping[str, str]) -> Environment:
    """Return an environment that gpuenv made; raise UsageError for an unknown one."""
    environment = find_environment(name, environ)
    if environment is None:
        raise unknown(name, environ)
    return environment


def unknown(name: str, environ: Mapping[str, str]) -> UsageError:
    """Return the error for a name of no environment, with those like it."""
    import difflib  # noqa: PLC0415 - for a wrong name alone

    names = [environment.paths.name for environment in list_environments(find_store(environ))]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    meant = Fix(tr("did you mean {names}?", names=series(f"`{item}`" for item in close)))
    return UsageError(
        tr("gpuenv has not created an environment `{name}`", name=name),
        code="unknown-environment",
        fixes=(meant,) if close else (Fix(tr("see what is available"), "gpuenv list"),),
    )


def foreign(name: str, environ: Mapping[str, str], root: Path = Path("/")) -> Path | None:
    """Return the conda environment of that name or at that path, where gpuenv made none called so."""
    environment = place_of(name, environ)
    path = environment.path
    if read_record(path) is not None or is_pending(environment):
        return None
    from gpuenv.environments.conda.meta import is_conda_environment  # noqa: PLC0415 - where gpuenv made none

    by_name = not is_path(name)
    found = (item for item in list_foreign(environ, root) if item == path or (by_name and item.name == name))
    return next(found, path if is_conda_environment(path) else None)


def list_foreign(environ: Mapping[str, str], root: Path = Path("/")) -> tuple[Path, ...]:
    """Return the conda environments of this user that gpuenv did not make."""
    from gpuenv.host.software.package_managers import find_conda_environments  # noqa: PLC0415 - reads much

    return tuple(path for path in find_conda_environments(environ, root) if read_record(path) is None)
