"""Who uses gpuenv's cache: each process holds a shared lock while it lives, `cache clean` takes it alone.

On Windows there is no such lock, and none is needed: what is open there can't be removed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from gpuenv.files.closed import make_closed

LOCK_FILE = "in-use.lock"
_WAIT_S = 10.0
_POLL_S = 0.02

_held: dict[Path, int] = {}
_guard = Lock()


def hold(root: Path) -> None:
    """Let nobody remove from this cache what this process may be using, until it ends or uses another cache.

    Where the cache is being cleaned that is waited for, but not for ever: a stopped process must not stop us.
    """
    if os.name != "posix":
        return
    root = Path(os.path.abspath(root))  # noqa: PTH100 - a link must stay one
    with _guard, suppress(OSError):  # what can't be written can't be cleaned
        if root not in _held:
            _close()
            _held[root] = _shared(root)


def descriptors() -> tuple[int, ...]:
    """Return what a child inherits that may outlive this process, to hold the lock as well."""
    return tuple(_held.values())


def let_go() -> None:
    """Give up all locks of this process: it uses nothing any more."""
    with _guard:
        _close()


@contextmanager
def alone(root: Path) -> Iterator[bool]:
    """Keep others from beginning to use a cache; yields whether none does. The lock's file is removed.

    A file system without locks counts as one that nobody else uses, as for environments.
    """
    let_go()
    if os.name != "posix":
        yield True
        return
    path = root / LOCK_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:  # nothing can be removed there either
        yield True
        return
    try:
        free = _flock(descriptor, exclusive=True)
        yield free
        if free:
            with suppress(OSError):
                path.unlink()
    finally:
        os.close(descriptor)


def _close() -> None:
    while _held:
        os.close(_held.popitem()[1])


def _shared(root: Path) -> int:
    make_closed(root)
    path, until = root / LOCK_FILE, time.monotonic() + _WAIT_S
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        free = _flock(descriptor, exclusive=False)
        if (free and _is(descriptor, path)) or time.monotonic() >= until:
            return descriptor
        os.close(descriptor)
        time.sleep(_POLL_S)


def _is(descriptor: int, path: Path) -> bool:
    """Tell whether the file that was locked is still there: who cleaned has removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _flock(descriptor: int, *, exclusive: bool) -> bool:
    import fcntl  # noqa: PLC0415 - exists on POSIX only

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
