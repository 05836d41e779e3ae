"""Files and folders that only their user can read, from their creation on and whatever the umask."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

_FILE, _FOLDER = 0o600, 0o700


def make_private_folder(folder: Path) -> None:
    """Create a folder of mode 0700, or the group's inside a folder that a group shares; raise OSError."""
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o777 if is_shared(folder.parent) else _FOLDER, exist_ok=True)


def is_shared(folder: Path) -> bool:
    """Tell whether a group shares a folder (setgid and group-writable); raise OSError."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_ISGID and mode & stat.S_IWGRP)


def append_private(path: Path) -> IO[bytes]:
    """Open a file for appending, a new one with mode 0600; raise OSError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _FILE), "ab")


def write_private(path: Path, text: str) -> None:
    """Write a file, a new one with mode 0600; raise OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def replace_private(path: Path, content: str | bytes) -> None:
    """Replace a file of the cache in one step by one of mode 0600, its folder created; raise OSError."""
    import tempfile  # noqa: PLC0415 - most commands write none

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
