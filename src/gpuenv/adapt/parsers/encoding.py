"""The bytes of a left file as text and back, so that what is not changed stays byte for byte."""

from __future__ import annotations

import codecs

from gpuenv.i18n.messages import tr

_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def decode_left(content: bytes) -> str:
    """Decode UTF-8, or UTF-16 as PowerShell's `>` writes it, its mark kept; raise ValueError for no text.

    Bytes that are no UTF-8 (latin-1 in a comment) become surrogates, by which `encode_left` restores them.
    """
    encoding = _encoding(content)
    try:
        text = content.decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    except UnicodeDecodeError:
        raise ValueError(tr("it is not a text file")) from None
    if "\0" in text:
        raise ValueError(tr("it is not a text file"))
    return text


def encode_left(text: str, like: bytes) -> bytes:
    """Encode a text as the bytes it came from were."""
    encoding = _encoding(like)
    return text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")


def _encoding(content: bytes) -> str:
    return next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
