"""The environments that gpuenv made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuenv.environments.external import places_elsewhere
from gpuenv.environments.record import Record, read_record
from gpuenv.environments.store import EnvironmentPaths, EnvironmentStore, find_place, is_path


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment and its record."""

    place: EnvironmentPaths
    record: Record


def list_environments(store: EnvironmentStore) -> tuple[Environment, ...]:
    """Return the environments of a store by name, then those made at other paths."""
    inside = (EnvironmentPaths(store, path.name, path) for path in _directories(store))
    results = (
        (environment, read_record(environment.path)) for environment in (*inside, *places_elsewhere(store))
    )
    return tuple(Environment(environment, record) for environment, record in results if record is not None)


def _directories(store: EnvironmentStore) -> tuple[Path, ...]:
    try:
        return tuple(sorted(path for path in store.environments.iterdir() if not path.name.startswith(".")))
    except OSError:
        return ()


def find_environment(name: str, environ: Mapping[str, str]) -> Environment | None:
    """Return the environment of that name or at that path, None when gpuenv made none there.

    Raises UsageError for a bad name.
    """
    environment = place_of(name, environ)
    record = read_record(environment.path)
    return Environment(environment, record) if record is not None else None


def place_of(name: str, environ: Mapping[str, str]) -> EnvironmentPaths:
    """Return where an environment is that may have been made: in the store, else where it was noted.

    Raises UsageError for a bad name.
    """
    environment = find_place(name, environ)
    if is_path(name) or read_record(environment.path) is not None:
        return environment
    noted = (paths for paths in places_elsewhere(environment.store) if paths.name == environment.name)
    return next(noted, environment)
