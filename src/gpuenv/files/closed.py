"""Files and folders that are closed to others from the moment they exist, whatever the umask."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

_FILE, _FOLDER = 0o600, 0o700


def make_closed(folder: Path) -> None:
    """Make a folder, and those above it, that only its user may enter; one that is there stays as it is.

    In a folder that a group shares (setgid, and the group may write) it is the group's. Raises OSError.
    """
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o777 if is_shared(folder.parent) else _FOLDER, exist_ok=True)


def is_shared(folder: Path) -> bool:
    """Tell whether a group shares a folder. Raises OSError."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_ISGID and mode & stat.S_IWGRP)


def append_closed(path: Path) -> IO[bytes]:
    """Open a file to append to it; a new one only its user may read. Raises OSError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _FILE), "ab")


def write_closed(path: Path, text: str) -> None:
    """Write a file; a new one only its user may read. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
