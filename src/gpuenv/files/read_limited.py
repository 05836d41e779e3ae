"""Read files up to a limit: those that a setting names may be pipes, or /dev/zero."""

from __future__ import annotations

import errno
import os
import select
import stat
from pathlib import Path

from gpuenv.i18n.messages import tr

LARGEST = 4 << 20  # bytes of a configuration file
_PIECE = 1 << 20
_OPENED_WITHIN_S = 0.5  # a pipe's other end
_SAID_WITHIN_S = 30.0  # something by who holds it, where nobody named the pipe on a command line
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def read_limited(path: Path, limit: int = LARGEST, *, patient: bool = False) -> bytes:
    """Return a file's content; raise OSError or ValueError, also for an idle pipe unless `patient`."""
    return _within(limit, read_start(path, limit + 1, patient=patient))


def _within(limit: int, content: bytes) -> bytes:
    if len(content) > limit:
        raise ValueError(too_large(limit))
    return content


def read_start(path: Path, size: int, *, patient: bool = False) -> bytes:
    """Return the first `size` bytes of a file, fewer where it has no more; raise OSError or ValueError."""
    descriptor = os.open(path, _FLAGS)  # does not wait for a pipe's other end
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        content = bytearray()
        unopened = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        while len(content) < size:
            piece = file.read(min(_PIECE, size - len(content)))
            if piece:
                content += piece
            elif piece is None:  # somebody holds it, and has said nothing yet
                _wait(descriptor, None if patient else _SAID_WITHIN_S)
            elif unopened and not content:
                _wait(descriptor, _OPENED_WITHIN_S)
            else:
                break
            unopened = False
    return bytes(content)


def _wait(descriptor: int, limit_s: float | None) -> None:
    """Wait for something to read, or for a pipe's end; raise ValueError where neither comes."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(None if limit_s is None else limit_s * 1000):
        raise ValueError(tr("no process is writing to it"))


def read_limited_text(path: Path, limit: int = LARGEST) -> str:
    """Return a file's text in UTF-8, its line ends as one letter; raise OSError or ValueError."""
    return read_limited(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def too_large(limit: int) -> str:
    """Say what is wrong with a file of more than `limit` bytes."""
    if limit < 1 << 20:
        return tr("it is larger than {size} KB", size=limit >> 10)
    return tr("it is larger than {limit} MB", limit=limit >> 20)


def read_regular(path: Path, limit: int = LARGEST) -> bytes:
    """Return the content of a regular file; raise OSError, or ValueError for a pipe or a file too large."""
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        _check_regular(os.fstat(file.fileno()))
        return _within(limit, file.read(limit + 1))


def read_own(path: Path, limit: int = LARGEST) -> bytes:
    """Return a file that only this user can have written; raise OSError or ValueError for any other."""
    folder = path.parent.lstat()
    if not is_own(folder) and not (folder.st_mode & stat.S_ISGID and folder.st_mode & stat.S_IWGRP):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with os.fdopen(os.open(path, _FLAGS | _NO_LINK), "rb") as file:
        status = os.fstat(file.fileno())
        _check_regular(status)
        if not is_own(status):
            raise ValueError(tr("it is owned by another user"))
        if os.name == "posix" and (status.st_mode & _OTHERS_WRITE or status.st_nlink > 1):
            raise ValueError(tr("it is writable by other users"))
        return _within(limit, file.read(limit + 1))


def is_own(status: os.stat_result) -> bool:
    """Tell whether a file belongs to this user; always true on Windows."""
    return os.name != "posix" or status.st_uid == os.geteuid()


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(tr("it is not a regular file"))
