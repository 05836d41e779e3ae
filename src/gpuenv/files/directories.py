"""Directories: which one it is, how to be rid of a large one."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Identity = tuple[int, int]  # device and inode


def identity_of(path: Path) -> Identity | None:
    """Return which directory lies at `path`, None when there is none (a link is none)."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def remove_tree(path: Path) -> None:
    """Remove a tree, read-only files and directories included; raise OSError for what can't be removed."""
    if not os.path.lexists(path):
        return
    if identity_of(path) is None:
        path.unlink()
        return
    if sys.version_info >= (3, 12):
        shutil.rmtree(path, onexc=_retry)
    else:
        shutil.rmtree(path, onerror=lambda call, name, info: _retry(call, name, info[1]))


def _retry(call: Callable[..., Any], name: str, error: BaseException) -> None:
    """Windows refuses to delete read-only files; POSIX refuses in read-only directories."""
    if isinstance(error, FileNotFoundError):
        return
    if not isinstance(error, PermissionError):
        raise error
    path = Path(name)
    path.parent.chmod(stat.S_IRWXU)
    if call in {os.unlink, os.remove, os.rmdir}:
        if os.name == "nt":
            path.chmod(stat.S_IWRITE)
        call(name)
    else:  # the directory itself could not be read
        path.chmod(stat.S_IRWXU)
        shutil.rmtree(path)
