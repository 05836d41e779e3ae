"""One change at a time to an environment: the locks that gpuenv itself takes (`environments.lock`).

They are held by the kernel, on a shared home by its server, and go with the process that holds them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .places import NodeEnvironmentPaths, unwritable
from .problems import NodeError

_EVERY_S = 0.1
_TAKEN = (errno.EAGAIN, errno.EACCES)


@contextmanager
def locked(environment: NodeEnvironmentPaths, wait_s: float) -> Iterator[tuple[int, ...]]:
    """Hold the lock of a place; yield descriptors that the installer must inherit.

    Through them it holds a second lock, so that nobody touches the place before the orphan of a killed
    program has ended. Raises NodeError `environment-busy` when it is not free within `wait_s` seconds.
    """
    folder, until = environment.own_folder("locks"), time.monotonic() + wait_s
    ours = _open(os.path.join(folder, environment.key + ".lock"))
    try:
        _wait(ours, environment, until, needed=True)
        installers = _open(os.path.join(folder, environment.key + ".installer"))
        try:
            _wait(installers, environment, until, needed=False)
            yield (installers,)
        finally:
            os.close(installers)
    finally:
        os.close(ours)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise unwritable(os.path.dirname(path), error) from None


def _wait(descriptor: int, environment: NodeEnvironmentPaths, until: float, needed: bool) -> None:
    reported = False
    while not _lock(descriptor, environment, needed):
        if time.monotonic() >= until:
            message = "another gpuenv is at work on `{}`: run the command again when it has ended"
            raise NodeError("environment-busy", message.format(environment.name))
        if not reported:
            print(f"another gpuenv is at work on `{environment.name}`; waiting for it", file=sys.stderr)
            reported = True
        time.sleep(_EVERY_S)


def _lock(descriptor: int, environment: NodeEnvironmentPaths, needed: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        if needed:
            message = "the file system of `{}` has no locks: set GPUENV_DATA_DIR to a folder on another one"
            raise NodeError("no-locks", message.format(environment.store), (str(error),)) from None
    return True
