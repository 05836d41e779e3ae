"""File locks, which end with the last process that has them; on a shared home its server keeps them."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_POLL_S = 0.05
_TAKEN = (errno.EAGAIN, errno.EACCES)


class LockTakenError(Exception):
    """Another process has the lock."""


class LocksUnsupportedError(Exception):
    """The file system has no locks."""


def acquire_lock(
    file: Path, until: float, *, required: bool, waiting: Callable[[], None] = lambda: None
) -> int:
    """Return a descriptor that holds the lock on a file; whoever inherits it holds the lock as well.

    `until` is of `time.monotonic`, `waiting` is called before waiting. Raises LockTakenError, OSError, and
    LocksUnsupportedError for a lock that is `required`.
    """
    descriptor = os.open(str(file), _FLAGS, 0o666)
    try:
        _wait(descriptor, until, required, waiting)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _wait(descriptor: int, until: float, required: bool, waiting: Callable[[], None]) -> None:
    has_waited = False
    while not _try_lock(descriptor, required):
        if time.monotonic() >= until:
            raise LockTakenError
        if not has_waited:
            waiting()
            has_waited = True
        time.sleep(_POLL_S)


def _try_lock(descriptor: int, required: bool) -> bool:
    import fcntl  # noqa: PLC0415 - exists on POSIX only

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        if required:
            raise LocksUnsupportedError(str(error)) from error
    return True
