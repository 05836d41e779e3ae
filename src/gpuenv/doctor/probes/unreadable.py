"""What of an environment its user may not read: else it would pass for missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gpuenv.model.findings import Interpreter


def read_unread(python: Interpreter) -> tuple[str, ...]:
    """Return the directories of packages, of torch and of its metadata that are there and can't be read."""
    places = (*python.packages, python.user_site if python.uses_user_site else None)
    return tuple(str(path) for location in places if location for path in _closed(Path(location)))


def _closed(file: Path) -> Iterator[Path]:
    if _is_closed(file):
        yield file
        return
    try:
        beside = sorted(file.glob("torch-*.dist-info"))
    except OSError:
        return
    yield from (path for path in (file / "torch", *beside) if _is_closed(path))


def _is_closed(folder: Path) -> bool:
    """Tell whether permission is what is missing; tried, since lists and servers say more than modes do."""
    try:
        next(folder.iterdir(), None)
        os.stat(f"{folder}{os.sep}.")  # noqa: PTH116 - whether it may be entered; pathlib drops the dot
    except PermissionError:
        return True
    except OSError:
        return False
    return False
