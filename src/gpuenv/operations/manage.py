"""Remove environments that gpuenv created; recover interrupted changes before the next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuenv.environments import transaction
from gpuenv.environments.conda.meta import installed_names
from gpuenv.environments.conda.registry import unregister_environment
from gpuenv.environments.contents.kernels import kernels_of, remove_kernel
from gpuenv.environments.contents.size import forget_size
from gpuenv.environments.file_lock import WAIT_S, locked, locked_to_remove
from gpuenv.environments.listing import (
    Environment,
    find_environment,
    forget_external,
    place_of,
)
from gpuenv.environments.pending import is_left_inside, is_pending
from gpuenv.environments.run_steps import remove_logs
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.find import foreign, known, unknown
from gpuenv.process.surroundings import cache_root


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


def check_removable(name: str, environ: Mapping[str, str]) -> EnvironmentPaths:
    """Return what `remove` would remove; raise UsageError early where it would refuse."""
    environment = place_of(name, environ)
    if not is_pending(environment):
        _refuse_foreign(name, environ)
        known(name, environ)
        transaction.check_alone(environment)
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
        if find_environment(name, environ) is None and not is_left_inside(environment):
            if not recovered:
                raise unknown(name, environ)
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


def existing_to_change(name: str, environ: Mapping[str, str], *, wait_s: float = 0) -> Environment:
    """Return an environment that is about to be changed, after recovery from an interrupted change.

    Raises UsageError as `existing` does.
    """
    environment = place_of(name, environ)
    if is_pending(environment):
        with locked(environment, wait_s=wait_s):
            transaction.recover(environment)
    return known(name, environ)
