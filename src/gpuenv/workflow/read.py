"""Read text files that a user names."""

from __future__ import annotations

import codecs
import stat
import sys
from functools import cache
from pathlib import Path
from typing import Any

from gpuenv.values.text import tr

_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LARGEST = 64 << 20  # bytes


def read_text(path: Path) -> str:
    """Return a file's text: UTF-8, or UTF-16 as PowerShell's `>` writes it; raise OSError or ValueError."""
    told = path.stat()
    content = _read_pipe(path, told.st_ino) if stat.S_ISFIFO(told.st_mode) else _read(path)
    if len(content) > _LARGEST:
        raise ValueError(tr("it is larger than {limit} MB", limit=_LARGEST >> 20))
    return decode(content)


@cache
def _read_pipe(path: Path, _inode: int) -> bytes:
    """Keep what a pipe gave: it gives it once (`-r <(...)`), and a plan may be made several times."""
    return _read(path)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LARGEST + 1)


def decode(content: bytes) -> str:
    """Decode by the byte order mark, UTF-8 without one; raise ValueError."""
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8-sig")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise ValueError(tr("it is no text in UTF-8")) from None


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raise ValueError, or RecursionError for what is nested too deeply."""
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - only where there is such a file
    else:
        import tomli as tomllib  # noqa: PLC0415
    return tomllib.loads(text)
