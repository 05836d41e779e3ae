"""Find the files of a folder that may say what to install: by name, near the root, within bounds."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from gpuenv.adapt.sources.names import KnownName, known_name, rank_of

_DEEPEST = 3  # `docs/en/get_started/install.md`
_MOST_FOLDERS = 300
_MOST_ENTRIES = 3000  # of one folder: what has more holds data
_MOST_FOUND = 400
_MOST_FILES = 60  # that are read: those that bind most
_HIDDEN = (".github", ".devcontainer", ".circleci")
# what others wrote, what programs made, environments
_NOT_OURS = frozenset(
    {
        "node_modules", "__pycache__", "site-packages", "dist-packages", "venv", "build", "dist", "wandb",
        "third_party", "thirdparty", "third-party", "3rdparty", "external", "externals", "extern", "vendor",
        "vendors", "submodules", "deps", "data", "datasets", "checkpoints", "outputs", "results", "logs",
    }
)  # fmt: skip
_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


class FoundFile(Struct, frozen=True):
    """A file, its path in the folder, and the row that its name fits."""

    path: Path
    relative: str
    name: KnownName


def find_files(folder: Path) -> tuple[FoundFile, ...]:
    """Return the files of a folder and below, those that bind most first.

    Links, checkouts within the checkout, environments and what others wrote are not looked into.
    """
    found = islice(_found(folder), _MOST_FOUND)
    return tuple(sorted(found, key=lambda item: rank_of(item.relative, item.name.kind))[:_MOST_FILES])


def _found(root: Path) -> Iterator[FoundFile]:
    waiting = deque([(root, 0)])
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            return
        folder, depth = waiting.popleft()
        files, folders = _entries(folder)
        for path in files:
            relative = path.relative_to(root).as_posix()
            name = known_name(relative)
            if name is not None:
                yield FoundFile(path, relative, name)
        if depth < _DEEPEST:
            waiting += ((path, depth + 1) for path in folders if _is_ours(path))


def _entries(folder: Path) -> tuple[list[Path], list[Path]]:
    files: list[Path] = []
    folders: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, _MOST_ENTRIES):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(folder / entry.name)
                elif entry.is_file():  # a link's target is looked at when it is read
                    files.append(folder / entry.name)
    except OSError:  # nobody named it
        return [], []
    return sorted(files), sorted(folders)


def _is_ours(folder: Path) -> bool:
    name = folder.name.lower()
    if name in _NOT_OURS or name.endswith(".egg-info") or (name.startswith(".") and name not in _HIDDEN):
        return False
    return not any(os.path.lexists(folder / known) for known in (".git", *_OF_ENVIRONMENTS))
