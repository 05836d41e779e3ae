"""Environments that were made at a path of the user's: notes in the store, so that they can be listed."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from gpuenv.environments.record import read_record
from gpuenv.environments.store import EnvironmentPaths, EnvironmentStore, is_path, make_directory, unwritable
from gpuenv.files.read_limited import read_limited_text
from gpuenv.on_disk.replace import replace_file
from gpuenv.untrusted.documents import load_json


def remember(environment: EnvironmentPaths) -> None:
    """Note an environment that lies outside the store."""
    if not environment.is_elsewhere:
        return
    make_directory(environment.store.elsewhere)
    try:
        replace_file(_note(environment), json.dumps(str(environment.path)))
    except OSError as error:
        raise unwritable(environment.store.elsewhere, error) from None


def forget(environment: EnvironmentPaths) -> None:
    """Drop the note of an environment."""
    _note(environment).unlink(missing_ok=True)


def _note(environment: EnvironmentPaths) -> Path:
    return environment.store.elsewhere / f"{environment.key}.json"


def places_elsewhere(store: EnvironmentStore) -> tuple[EnvironmentPaths, ...]:
    """Return the noted places that still hold an environment of gpuenv's."""
    places = []
    for note in sorted(store.elsewhere.glob("*.json")) if store.elsewhere.is_dir() else ():
        with suppress(OSError, ValueError):
            path = Path(str(load_json(read_limited_text(note))))
            record = read_record(path) if path.is_absolute() else None
            if record is not None:  # a conda tool's has a name; what was made at a path is called by it
                name = str(path) if is_path(record.name) else record.name
                places.append(EnvironmentPaths(store, name, path))
    return tuple(places)
