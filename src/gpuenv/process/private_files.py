"""Files that only their user may read, in a folder that nobody else may enter, for as long as gpuenv runs."""

from __future__ import annotations

import atexit
import os
import tempfile
from contextlib import suppress

from gpuenv.process.surroundings import private_folder

_FOLDER = "private"


def write_private(text: str, ending: str) -> str:
    """Write a file of mode 0600 that goes when gpuenv ends; return its path. Raises OSError."""
    descriptor, path = tempfile.mkstemp(suffix=ending, dir=private_folder(_FOLDER))  # made with mode 0600
    atexit.register(_remove, path)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    return path


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - pathlib may be gone at exit
