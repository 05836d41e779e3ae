"""Files that a setting names, read up to a limit: one of them may be /dev/zero."""

from __future__ import annotations

from pathlib import Path

from gpuenv.values.text import tr

LARGEST = 4 << 20  # bytes of a configuration file


def read_limited(path: Path, limit: int = LARGEST) -> bytes:
    """Return what a file holds; raise OSError, or ValueError for more than `limit` bytes."""
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(tr("it is larger than {limit} MB", limit=limit >> 20))
    return content


def read_limited_text(path: Path, limit: int = LARGEST) -> str:
    """Return a file's text in UTF-8, its line ends as one letter; raise OSError or ValueError."""
    return read_limited(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
