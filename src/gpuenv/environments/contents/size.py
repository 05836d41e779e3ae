"""How much an environment takes on disk; counted once and kept in the cache until something is installed."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from gpuenv.files.read_limited import read_limited_text
from gpuenv.on_disk.installed import site_packages
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.on_disk.replace import replace_file
from gpuenv.untrusted.documents import load_json


def environment_size(environment: EnvironmentPaths, cache: Path | None) -> int | None:
    """Return the bytes of an environment, None where it can't be read; a file counts once.

    Installing and removing packages changes the folder of packages; until then `cache` tells what was counted
    before.
    """
    note = cache / "sizes" / f"{environment.key}.json" if cache else None
    stamps = _stamps(environment.path)
    known = _known(note, stamps) if note else None
    if known is not None:
        return known
    try:
        size = count_bytes(environment.path)
    except OSError:
        return None
    if note:
        with suppress(OSError):  # then it is counted the next time too
            note.parent.mkdir(parents=True, exist_ok=True)
            replace_file(note, json.dumps({"stamps": stamps, "size": size}))
    return size


def forget_size(environment: EnvironmentPaths, cache: Path) -> None:
    """Drop what was counted of an environment that is gone."""
    with suppress(OSError):
        (cache / "sizes" / f"{environment.key}.json").unlink()


def count_bytes(root: Path) -> int:
    """Return the bytes on disk of all that lies in a folder, links not followed; raise OSError."""
    total, linked, folders = 0, set(), [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                status = entry.stat(follow_symlinks=False)
                if status.st_nlink > 1:
                    if (status.st_dev, status.st_ino) in linked:
                        continue
                    linked.add((status.st_dev, status.st_ino))
                total += status.st_size
    return total


def _stamps(root: Path) -> list[list[int]]:
    stamps = []
    for path in (*site_packages(root), root / "conda-meta"):
        with suppress(OSError):
            status = path.stat()
            stamps.append([status.st_ino, status.st_mtime_ns])
    return stamps


def _known(note: Path, stamps: list[list[int]]) -> int | None:
    try:
        document = load_json(read_limited_text(note))
        if document["stamps"] == stamps and type(document["size"]) is int:
            return int(document["size"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return None
