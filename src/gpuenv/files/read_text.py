"""Read text files that a user names."""

from __future__ import annotations

import codecs
import stat
from functools import cache
from pathlib import Path

from gpuenv.files.read_limited import read_limited
from gpuenv.i18n.messages import tr

_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LARGEST = 64 << 20  # bytes


def read_text(path: Path, limit: int = _LARGEST) -> str:
    """Return a file's text: UTF-8, or UTF-16 as PowerShell's `>` writes it; raise OSError or ValueError."""
    status = path.stat()
    if stat.S_ISFIFO(status.st_mode):
        return decode(_read_pipe(path, status.st_ino, limit))
    return decode(read_limited(path, limit, patient=True))


@cache
def _read_pipe(path: Path, _inode: int, limit: int) -> bytes:
    """Keep what a pipe gave: it gives it once (`-r <(...)`), and a plan may be made several times."""
    return read_limited(path, limit, patient=True)


def decode(content: bytes) -> str:
    """Decode by the byte order mark, UTF-8 without one; raise ValueError."""
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8-sig")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise ValueError(tr("it is not UTF-8 text")) from None
