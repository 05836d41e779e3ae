"""Directories: their identity and owner, reading files from them, removing whole trees."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Tuple

Identity = Tuple[int, int]  # device and inode
_LARGEST = 1 << 20  # bytes
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FULL = frozenset((errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)))


def identity_of(path: Path) -> Identity | None:
    """Return which directory lies at `path`, None when there is none (a link is none)."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def is_full(error: OSError) -> bool:
    """Tell whether it is room (bytes, files, or what a quota allows) that was missing."""
    return error.errno in _FULL


def restrict_directory(path: Path) -> bool:
    """Let no other user enter a directory of this user; return False for another user's.

    What a group shares on purpose (setgid, and the group may write) stays as it is. Raises OSError.
    """
    mode, status = path.stat().st_mode, path.lstat()
    if mode & stat.S_ISGID and mode & stat.S_IWGRP:
        return True
    is_own = os.name != "posix" or status.st_uid == os.geteuid()
    if is_own and stat.S_IMODE(status.st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
        path.chmod(stat.S_IRWXU)
    return is_own


def read_regular(
    path: Path, limit: int = _LARGEST, *, own: bool = False, follow_links: bool = False
) -> bytes:
    """Return what a regular file holds, not a pipe (which never ends); raise OSError or ValueError.

    `own`: nobody but this user can have written it.
    """
    flags = _FLAGS if follow_links else _FLAGS | _NO_LINK
    with os.fdopen(os.open(str(path), flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        if own and (status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE or status.st_nlink > 1):
            raise ValueError("it is writable by other users")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it is larger than {limit} bytes")
    return content


def remove_tree(path: Path) -> None:
    """Remove a tree, read-only files and directories included; raise OSError for what cannot be removed."""
    if not os.path.lexists(path):
        return
    if identity_of(path) is None:
        path.unlink()
        return
    if sys.version_info >= (3, 12):
        shutil.rmtree(path, onexc=_retry)  # novermin: behind the check
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
