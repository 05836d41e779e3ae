"""The lock of gpuenv's cache: shared by every process that uses it, exclusive for `cache clean`.

Windows needs none: a file that is open there cannot be removed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from gpuenv.files.private import make_private_folder

LOCK_FILE = "in-use.lock"
_WAIT_S = 10.0
_POLL_S = 0.02

_held: dict[Path, int] = {}
_guard = Lock()


def lock_shared(root: Path) -> None:
    """Keep others from cleaning this cache until this process ends; waits for a limited time."""
    if os.name != "posix":
        return
    root = Path(os.path.abspath(root))  # noqa: PTH100 - a link must stay one
    with _guard, suppress(OSError):  # what can't be written can't be cleaned
        if root not in _held:
            _close()
            _held[root] = _shared(root)


def descriptors() -> tuple[int, ...]:
    """Return the lock's file descriptors, for children that may outlive this process."""
    return tuple(_held.values())


def unlock() -> None:
    """Release the locks of this process."""
    with _guard:
        _close()


@contextmanager
def lock_exclusive(root: Path) -> Iterator[bool]:
    """Keep others from using a cache; yield whether nobody uses it, then remove the lock's file."""
    unlock()
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
    make_private_folder(root)
    path, until = root / LOCK_FILE, time.monotonic() + _WAIT_S
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        free = _flock(descriptor, exclusive=False)
        if (free and _is_open_file(descriptor, path)) or time.monotonic() >= until:
            return descriptor
        os.close(descriptor)
        time.sleep(_POLL_S)


def _is_open_file(descriptor: int, path: Path) -> bool:
    """Tell whether the locked file still exists at its path: cleaning removes it."""
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
