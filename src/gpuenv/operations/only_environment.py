"""Which environment `gpuenv verify` and `gpuenv doctor` mean where none is named and none is active."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from gpuenv.environments.listing import Environment, list_environments
from gpuenv.environments.store import find_store
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError

_MOST_COMMANDS = 5


def only_environment(environ: Mapping[str, str], command: str) -> Path | None:
    """Return the environment that gpuenv made, None where it made none; raise UsageError for several.

    `command` is the one to name an environment to, such as `verify`.
    """
    try:
        made = list_environments(find_store(environ))
    except UsageError:  # nowhere to keep any
        return None
    if len(made) > 1:
        raise _several(made, command)
    return made[0].place.path if made else None


def _several(made: tuple[Environment, ...], command: str) -> UsageError:
    commands = tuple(
        f"gpuenv {command} {shlex.quote(environment.place.name)}" for environment in made[:_MOST_COMMANDS]
    )
    return UsageError(
        tr("no environment is active, and there are {count}: name one", count=len(made)),
        code="environment-not-named",
        because=tuple(Because(_described(environment), str(environment.place.path)) for environment in made),
        fixes=tuple(Fix(tr("specify it"), command) for command in commands),
        data={
            "environments": [
                {"name": environment.place.name, "path": str(environment.place.path)} for environment in made
            ]
        },
    )


def _described(environment: Environment) -> str:
    torch = (environment.record.package("torch") or {}).get("version")
    parts = (environment.place.name, f"torch {torch}" if torch else None, str(environment.place.path))
    return " · ".join(part for part in parts if part)
