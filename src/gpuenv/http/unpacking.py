"""Decompress gzip responses in pieces, so that a small one cannot fill the memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import requests

from gpuenv.http.errors import HttpProblem
from gpuenv.i18n.messages import tr
from gpuenv.untrusted.bounds import check_swelling

_PIECE = 1 << 17
_GZIP = ("gzip", "x-gzip")  # all that is asked for
_WINDOW = 16 + zlib.MAX_WBITS


def is_packed(response: requests.Response) -> bool:
    """Whether a response is compressed with gzip."""
    return response.headers.get("Content-Encoding", "").strip().lower() in _GZIP


def unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content in non-empty pieces; raise HttpProblem for invalid, truncated or endless gzip."""
    gzip = zlib.decompressobj(_WINDOW)
    taken = given = 0
    try:
        for received in pieces:
            taken += len(received)
            waiting = received
            while waiting and not gzip.eof:
                content = gzip.decompress(waiting, _PIECE)
                given += len(content)
                check_swelling(taken, given)
                if content:
                    yield content
                waiting = gzip.unconsumed_tail
            if gzip.eof:
                return
    except zlib.error:
        raise HttpProblem(tr("sent a page that could not be decompressed")) from None
    raise HttpProblem(tr("broke the connection"))
