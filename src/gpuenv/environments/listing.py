"""The environments that gpuenv made: those in the store, and by notes there those at other paths."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from gpuenv.environments.record import Record, read_record
from gpuenv.environments.store import find_place, is_path, make_directory, unwritable
from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore
from gpuenv.on_disk.replace import replace_file
from gpuenv.untrusted.documents import load_json


class Environment(Struct, frozen=True):
    """An environment and its record."""

    paths: EnvironmentPaths
    record: Record


def list_environments(store: EnvironmentStore) -> tuple[Environment, ...]:
    """Return the environments of a store by name, then those made at other paths."""
    inside = (EnvironmentPaths(store, path.name, path) for path in _directories(store))
    results = ((environment, read_record(environment.path)) for environment in (*inside, *_external(store)))
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
    noted = (paths for paths in _external(environment.store) if paths.name == environment.name)
    return next(noted, environment)


def note_external(environment: EnvironmentPaths) -> None:
    """Note an environment that lies outside the store."""
    if not environment.is_elsewhere:
        return
    make_directory(environment.store.elsewhere)
    try:
        replace_file(environment.note, json.dumps(str(environment.path)))
    except OSError as error:
        raise unwritable(environment.store.elsewhere, error) from None


def forget_external(environment: EnvironmentPaths) -> None:
    """Drop the note of an environment."""
    environment.note.unlink(missing_ok=True)


def _external(store: EnvironmentStore) -> tuple[EnvironmentPaths, ...]:
    """Return the noted environments that still exist."""
    environments = []
    for note in sorted(store.elsewhere.glob("*.json")) if store.elsewhere.is_dir() else ():
        with suppress(OSError, ValueError):
            path = Path(str(load_json(read_limited_text(note))))
            record = read_record(path) if path.is_absolute() else None
            if record is not None:  # a conda tool's has a name; what was made at a path is called by it
                name = str(path) if is_path(record.name) else record.name
                environments.append(EnvironmentPaths(store, name, path))
    return tuple(environments)


def python_missing(name: str, python: Path) -> UsageError:
    """Return the error of an environment whose Python is gone."""
    word = shlex.quote(name)
    return UsageError(
        tr("the Python of `{name}` no longer exists: {path}", name=name, path=python),
        code="broken-environment",
        fixes=(
            Fix(tr("see what is wrong with it"), f"gpuenv doctor {word}"),
            Fix(tr("recreate it"), f"gpuenv create {word} --force"),
        ),
    )
