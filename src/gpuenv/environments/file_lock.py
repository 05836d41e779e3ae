"""One change at a time to an environment: its file locks."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from filelock import FileLock, Timeout

from gpuenv.environments.folders.owners import DATA, check_environment_owner, check_folder
from gpuenv.environments.os_errors import DISK_FULL
from gpuenv.environments.store import make_own_directory, unwritable
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk.file_lock import LockTakenError, acquire_lock
from gpuenv.on_disk.places import EnvironmentPaths

WAIT_S = 10.0


@contextmanager
def locked(
    environment: EnvironmentPaths, *, wait_s: float = WAIT_S, tell: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[int, ...]]:
    """Hold the lock of an environment; yield descriptors that the installer must keep open.

    The installer holds a second lock through them: when gpuenv is killed, its orphan still has it, and nobody
    touches the environment before it has ended. Raises UsageError `environment-busy` when the lock is not
    free within `wait_s` seconds; `tell` is called before waiting.
    """
    check_folder(environment.store.root, DATA, named=True)
    check_environment_owner(environment.path)
    make_own_directory(environment.store.locks)
    lock = FileLock(environment.store.locks / f"{environment.key}.lock")
    try:
        _acquire(lock, environment, wait_s, tell)
    except OSError as error:
        raise unwritable(environment.store.locks, error) from None
    try:
        with _installer_lock(environment, wait_s) as descriptors:
            yield descriptors
    finally:
        lock.release()


@contextmanager
def locked_to_remove(environment: EnvironmentPaths, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the lock of an environment that is to be removed; on a disk too full for the lock's file, without.

    Nobody else has that lock then, or its file were there.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(environment, wait_s=wait_s))
        except UsageError as error:
            if error.code != DISK_FULL:
                raise
        yield


def _acquire(
    lock: FileLock, environment: EnvironmentPaths, wait_s: float, tell: Callable[[str], None]
) -> None:
    try:
        with warnings.catch_warnings():  # without flock an existing file locks, with a warning
            warnings.simplefilter("ignore")
            lock.acquire(timeout=0)
    except Timeout:
        if wait_s:
            tell(tr("another gpuenv is at work on `{name}`; waiting for it", name=environment.name))
    else:
        return
    try:
        lock.acquire(timeout=wait_s, poll_interval=0.1)
    except Timeout:
        raise busy(environment) from None


@contextmanager
def _installer_lock(environment: EnvironmentPaths, wait_s: float) -> Iterator[tuple[int, ...]]:
    if os.name != "posix":  # Windows hands on no locks; there an installer ends with its console
        yield ()
        return
    file = environment.store.locks / f"{environment.key}.installer"
    try:
        descriptor = acquire_lock(file, time.monotonic() + wait_s, required=False)
    except LockTakenError:
        raise busy(environment) from None
    except OSError as error:
        raise unwritable(environment.store.locks, error) from None
    try:
        yield (descriptor,)
    finally:
        os.close(descriptor)


def busy(environment: EnvironmentPaths) -> UsageError:
    """Say that another gpuenv is at work on the environment."""
    return UsageError(
        tr("another gpuenv is at work on `{name}`", name=environment.name),
        code="environment-busy",
        fixes=(Fix(tr("wait until it has finished, then run the command again")),),
    )
