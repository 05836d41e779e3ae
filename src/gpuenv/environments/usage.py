"""When an environment was last used: the time stamp of an empty file inside it."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

FILE_NAME = ".gpuenv-used"


def mark_used(root: Path) -> None:
    """Note that the environment is used now; where it can't be written, nothing is noted."""
    file = root / FILE_NAME
    try:
        os.utime(file)
    except FileNotFoundError:
        with suppress(OSError):
            file.touch()
    except OSError:
        pass


def last_used(root: Path) -> datetime | None:
    """Return when the environment was last entered through gpuenv, in UTC; None where nothing tells."""
    try:
        stamp = (root / FILE_NAME).stat().st_mtime
        return datetime.fromtimestamp(stamp, timezone.utc)
    except (OSError, OverflowError, ValueError):
        return None
