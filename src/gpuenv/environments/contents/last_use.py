"""When an environment was last used: the time stamp of an empty file inside it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from gpuenv.files.read_limited import is_own

FILE_NAME = ".gpuenv-used"
# whoever may write the environment may have put a link or a pipe there
_OPEN = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def mark_used(root: Path) -> None:
    """Note that the environment is used now; where it can't be written, nothing is noted."""
    with suppress(OSError):
        if not is_own(root.stat()):
            return
        descriptor = os.open(root / FILE_NAME, _OPEN, 0o666)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and is_own(status):
                os.utime(descriptor if os.utime in os.supports_fd else root / FILE_NAME)
        finally:
            os.close(descriptor)


def last_used(root: Path) -> datetime | None:
    """Return when the environment was last entered through gpuenv, in UTC; None where nothing tells."""
    try:
        stamp = (root / FILE_NAME).stat().st_mtime
        return datetime.fromtimestamp(stamp, timezone.utc)
    except (OSError, OverflowError, ValueError):
        return None
