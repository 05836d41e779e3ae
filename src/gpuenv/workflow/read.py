"""Read text files that a user names."""

from __future__ import annotations

import codecs
from pathlib import Path

_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LARGEST = 64 << 20  # bytes


def read_text(path: Path) -> str:
    """Return a file's text: UTF-8, or UTF-16 as PowerShell's `>` writes it; raise OSError or ValueError."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST >> 20} MB")
    return decode(content)


def decode(content: bytes) -> str:
    """Decode by the byte order mark, UTF-8 without one; raise ValueError."""
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8-sig")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise ValueError("it is no text in UTF-8") from None
