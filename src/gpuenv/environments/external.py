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


def remember(place: EnvironmentPaths) -> None:
    """Note an environment that lies outside the store."""
    if not place.is_elsewhere:
        return
    make_directory(place.store.elsewhere)
    try:
        replace_file(_note(place), json.dumps(str(place.path)))
    except OSError as error:
        raise unwritable(place.store.elsewhere, error) from None


def forget(place: EnvironmentPaths) -> None:
    """Drop the note of an environment."""
    _note(place).unlink(missing_ok=True)


def _note(place: EnvironmentPaths) -> Path:
    return place.store.elsewhere / f"{place.key}.json"


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
