"""Decompress Zstandard in pieces, so that a small file cannot fill the memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from gpuenv.i18n.messages import tr
from gpuenv.untrusted.bounds import check_swelling

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError

_PIECE = 1 << 20
_MOST_FRAMES = 10_000
_MAGIC = b"\x28\xb5\x2f\xfd"


def decompressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content of a file, also of one that the server has sent decompressed; raise ValueError."""
    waiting = iter(pieces)
    start = b""
    for piece in waiting:
        start += piece
        if len(start) >= len(_MAGIC):
            break
    if start.startswith(_MAGIC):
        yield from _frames(start, waiting)
    else:
        yield start
        yield from waiting


def decompress(data: bytes, limit: int) -> bytes:
    """Return a whole file's content; raise ValueError, also for more than `limit` bytes."""
    if not data.startswith(_MAGIC):
        raise ValueError(tr("it is not compressed with zstandard"))
    content = bytearray()
    for piece in decompressed([data]):
        content += piece
        if len(content) > limit:
            raise ValueError(tr("it has more than {limit} MB", limit=limit >> 20))
    return bytes(content)


def _frames(start: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of all frames."""
    frame, frames = ZstdDecompressor(), 1
    data: bytes | None = start
    packed, unpacked = len(start), 0
    try:
        while data is not None:
            if frame.eof:
                frame, frames = ZstdDecompressor(), frames + 1
            content = frame.decompress(data, max_length=_PIECE)
            while content:
                unpacked += len(content)
                check_swelling(packed, unpacked)
                yield content
                content = b"" if frame.eof or frame.needs_input else frame.decompress(b"", max_length=_PIECE)
            data = frame.unused_data if frame.eof else b""
            if not data and (data := next(pieces, None)):
                packed += len(data)
            if frames > _MOST_FRAMES:
                raise ValueError(tr("it has more than {most} frames", most=_MOST_FRAMES))
    except ZstdError as error:
        raise ValueError(tr("it cannot be decompressed: {error}", error=error)) from None
    if not frame.eof:
        raise ValueError(tr("it is truncated"))
