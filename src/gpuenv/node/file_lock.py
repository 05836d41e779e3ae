"""One change at a time to an environment: the file locks that gpuenv itself takes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from gpuenv.on_disk.file_lock import LocksUnsupportedError, LockTakenError, acquire_lock
from gpuenv.on_disk.places import EnvironmentPaths

from .places import make_own_folder, unwritable
from .problems import NodeError


@contextmanager
def locked(environment: EnvironmentPaths, wait_s: float) -> Iterator[tuple[int, ...]]:
    """Hold the lock of an environment; yield descriptors that the installer must inherit.

    Through them it holds a second lock, so that nobody touches the environment before the orphan of a killed
    program has ended. Raises NodeError `environment-busy` when it is not free within `wait_s` seconds.
    """
    folder, until, name = (
        make_own_folder(environment.store.locks),
        time.monotonic() + wait_s,
        environment.name,
    )

    def waiting() -> None:
        print(f"another gpuenv is at work on `{name}`; waiting for it", file=sys.stderr)

    with ExitStack() as held:
        try:
            for kind in ("lock", "installer"):
                file = folder / f"{environment.key}.{kind}"
                descriptor = acquire_lock(file, until, required=kind == "lock", waiting=waiting)
                held.callback(os.close, descriptor)
        except LockTakenError:
            message = f"another gpuenv is at work on `{name}`: run the command again when it has ended"
            raise NodeError("environment-busy", message) from None
        except LocksUnsupportedError as error:
            root = environment.store.root
            message = (
                f"the file system of `{root}` does not support locks: set GPUENV_DATA_DIR to another one"
            )
            raise NodeError("no-locks", message, (str(error),)) from None
        except OSError as error:
            raise unwritable(folder, error) from None
        yield (descriptor,)
