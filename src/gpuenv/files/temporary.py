"""A folder for temporary files where the usual ones are full or read-only."""

from __future__ import annotations

import atexit
import errno
import os
from contextlib import suppress
from functools import cache

_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 - where tempfile looks, which makes names of its own
_IN_MEMORY = "/dev/shm"  # noqa: S108 - writable in a container whose disk is read-only
_BYTES = 4096


def temporary_parent() -> str:
    """Return the folder for temporary files, never the current one; raise OSError."""
    if os.name != "posix":
        import tempfile  # noqa: PLC0415 - Windows has a folder for each user

        return tempfile.gettempdir()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = (*_usual(), *([runtime] if os.path.isabs(runtime) else []), _IN_MEMORY)  # noqa: PTH117
    for folder in candidates:
        if _takes_files(folder):
            return folder
    raise FileNotFoundError(errno.ENOENT, f"No usable temporary directory found in {list(candidates)}")


def _usual() -> list[str]:
    """Return the folders that `tempfile` looks at, as it reads them."""
    named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    return [*(os.path.abspath(item) for item in named if item), *_USUAL]  # noqa: PTH100


@cache
def fallback_tmpdir() -> str | None:
    """Return a private folder for TMPDIR and `tempfile`; None where a usual one is writable."""
    try:
        parent = temporary_parent()
    except OSError:
        return None
    if os.name != "posix" or parent in _usual():
        return None
    import shutil  # noqa: PLC0415 - rarely needed
    import tempfile  # noqa: PLC0415

    tempfile.tempdir = tempfile.mkdtemp(prefix="gpuenv-tmp-", dir=parent)
    atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)
    return tempfile.tempdir


def _takes_files(folder: str) -> bool:
    """Tell whether a file with something in it can be made; permissions tell root little."""
    try:
        descriptor = _nameless(folder)
    except OSError:
        return False
    try:
        return os.write(descriptor, b"\0" * _BYTES) == _BYTES
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _nameless(folder: str) -> int:
    """Open a new file that a kill does not leave; where the file system has none: one that is removed."""
    with suppress(OSError, AttributeError):
        return os.open(folder, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
    path = os.path.join(folder, f"gpuenv-{os.urandom(8).hex()}")  # noqa: PTH118
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)  # noqa: PTH108
    return descriptor
