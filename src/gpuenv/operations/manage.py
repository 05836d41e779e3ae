"""The environments that gpuenv created: list, find and remove them, and recover interrupted changes."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuenv.environments import transaction
from gpuenv.environments.conda.meta import installed_names, is_conda_environment
from gpuenv.environments.conda.registry import unregister_environment
from gpuenv.environments.contents.kernels import kernels_of, remove_kernel
from gpuenv.environments.contents.size import forget_size
from gpuenv.environments.file_lock import WAIT_S, locked, locked_to_remove
from gpuenv.environments.journal import is_half_done, pending_places, read_journal
from gpuenv.environments.ledger import noted_paths
from gpuenv.environments.listing import (
    Environment,
    find_environment,
    forget_external,
    list_environments,
    place_of,
)
from gpuenv.environments.record import read_record
from gpuenv.environments.run_steps import remove_logs
from gpuenv.environments.store import find_store, is_path
from gpuenv.host.software.package_managers import find_conda_environments
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError, VerificationFailed
from gpuenv.model.plan import PlanWarning
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.interrupted_change import mending, refuse_half_changed
from gpuenv.process.surroundings import cache_root


def list_all(environ: Mapping[str, str]) -> tuple[Environment, ...]:
    """Return all environments but those being made, and those of which a kill left only a half."""
    store = find_store(environ)
    hidden = {environment.path for environment in pending_places(store) if _hides(environment)}
    return tuple(
        environment for environment in list_environments(store) if environment.paths.path not in hidden
    )


def _hides(environment: EnvironmentPaths) -> bool:
    journal = read_journal(environment)
    return (journal is not None and is_half_done(journal)) or transaction.is_at_work(environment)


def list_interrupted(environ: Mapping[str, str]) -> tuple[EnvironmentPaths, ...]:
    """Return where a killed gpuenv left a change that is neither whole nor undone."""
    store = find_store(environ)
    inside = (EnvironmentPaths(store, path.name, path) for path in noted_paths(store))
    noted = {os.path.realpath(item.paths.path): item.paths for item in list_environments(store)}
    changed = (*pending_places(store), *(noted.get(str(item.path), item) for item in inside))
    places = {environment.path: environment for environment in changed}.values()
    return tuple(item for item in places if _is_pending(item) and not transaction.is_at_work(item))


def _is_pending(environment: EnvironmentPaths) -> bool:
    try:
        return transaction.is_pending(environment)
    except UsageError:  # not gpuenv's own: reported where it is changed
        return False


def interrupted(environment: EnvironmentPaths) -> PlanWarning:
    """Return the warning of an interrupted change, which reading does not undo."""
    command = mending(environment).command
    text = tr("a change of `{name}` was interrupted: `{command}`", name=environment.name, command=command)
    return PlanWarning("change-interrupted", text)


def refuse_interrupted(environment: EnvironmentPaths) -> None:
    """Raise UsageError where a change is in progress or was interrupted."""
    try:
        refuse_half_changed(environment)
    except VerificationFailed as error:
        raise UsageError(error.message, code=error.code, because=error.because, fixes=error.fixes) from None


def list_foreign(environ: Mapping[str, str], root: Path = Path("/")) -> tuple[Path, ...]:
    """Return the conda environments of this user that gpuenv did not make."""
    return tuple(path for path in find_conda_environments(environ, root) if read_record(path) is None)


def render_foreign(path: Path) -> dict[str, Any]:
    """Return an environment that gpuenv did not make as data of `gpuenv list`."""
    from gpuenv.environments.check_installed import torch_cuda  # noqa: PLC0415 - not for `run`
    from gpuenv.on_disk.installed import installed_versions  # noqa: PLC0415 - not for `run`

    versions = installed_versions(path)
    python = installed_names(path).get("python")
    cuda = torch_cuda(path)
    return {
        "name": path.name,
        "path": str(path),
        "manager": "conda",
        "torch": versions.get("torch"),
        "variant": cuda,
        "python": ".".join(python.version.split(".")[:2]) if python else None,
        "verified": None,
    }


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


def unreadable(environment: Environment) -> PlanWarning | None:
    """Return the warning of an environment whose record cannot be read."""
    name, problem = environment.paths.name, environment.record.problem
    if problem is None:
        return None
    text = tr("the record of `{name}` cannot be read: {problem}", name=name, problem=problem)
    hint = tr("it still works unchanged; `gpuenv create {name} --force` recreates it", name=shlex.quote(name))
    return PlanWarning("record-unreadable", f"{text}; {hint}")


def foreign(name: str, environ: Mapping[str, str], root: Path = Path("/")) -> Path | None:
    """Return the conda environment of that name or at that path, where gpuenv made none called so."""
    environment = place_of(name, environ)
    path = environment.path
    if read_record(path) is not None or transaction.is_pending(environment):
        return None
    by_name = not is_path(name)
    found = (item for item in list_foreign(environ, root) if item == path or (by_name and item.name == name))
    return next(found, path if is_conda_environment(path) else None)


def check_removable(name: str, environ: Mapping[str, str]) -> EnvironmentPaths:
    """Return what `remove` would remove; raise UsageError early where it would refuse."""
    environment = place_of(name, environ)
    if not transaction.is_pending(environment):
        _refuse_foreign(name, environ)
        _known(name, environ)
    return environment


def _refuse_foreign(name: str, environ: Mapping[str, str]) -> None:
    """Raise UsageError for a conda environment that gpuenv did not create: other programs may use it."""
    path = foreign(name, environ)
    if path is not None:
        command = f"conda env remove -p {shlex.quote(str(path))}"
        raise UsageError(
            tr("the conda environment {path} was not created by gpuenv", path=path),
            code="foreign-environment",
            fixes=(Fix(tr("remove it with the tool that created it"), command),),
        )


def remove(name: str, environ: Mapping[str, str], *, wait_s: float = WAIT_S) -> EnvironmentPaths:
    """Remove an environment that gpuenv made, or what a killed gpuenv left of one.

    Raises UsageError for an unknown or busy one, InstallFailed where the system refuses.
    """
    environment = check_removable(name, environ)
    with locked_to_remove(environment, wait_s=wait_s):
        recovered = transaction.recover_to_remove(environment)
        if find_environment(name, environ) is None and not transaction.is_left_inside(environment):
            if not recovered:
                raise _unknown(name, environ)
        else:
            kernels = kernels_of(environment.path)
            transaction.remove(environment)
            for folder in kernels:
                remove_kernel(folder, environment.path)
            unregister_environment(environment.path, environ)
        forget_external(environment)
        forget_size(environment, cache_root(environ))
        remove_logs(environment)
    return environment


def existing(name: str, environ: Mapping[str, str]) -> Environment:
    """Return an environment that gpuenv made, to look at it or run it.

    Raises UsageError for an unknown one, one being made, and one of which a kill left only a half.
    """
    environment = place_of(name, environ)
    refuse_interrupted(environment)
    return _known(name, environ)


def existing_to_change(name: str, environ: Mapping[str, str], *, wait_s: float = 0) -> Environment:
    """Return an environment that is about to be changed, after recovery from an interrupted change.

    Raises UsageError as `existing` does.
    """
    environment = place_of(name, environ)
    if transaction.is_pending(environment):
        with locked(environment, wait_s=wait_s):
            transaction.recover(environment)
    return _known(name, environ)


def _known(name: str, environ: Mapping[str, str]) -> Environment:
    environment = find_environment(name, environ)
    if environment is None:
        raise _unknown(name, environ)
    return environment


def _unknown(name: str, environ: Mapping[str, str]) -> UsageError:
    names = [environment.paths.name for environment in list_environments(find_store(environ))]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    meant = Fix(tr("did you mean {names}?", names=", ".join(f"`{item}`" for item in close)))
    return UsageError(
        tr("gpuenv has not created an environment `{name}`", name=name),
        code="unknown-environment",
        fixes=(meant,) if close else (Fix(tr("see what is available"), "gpuenv list"),),
    )
