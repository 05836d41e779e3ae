"""Large files, streamed without a cache, and only if they changed."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests
from urllib3.exceptions import HTTPError

from gpuenv.http.client import HttpClient
from gpuenv.http.errors import FetchLimits, HttpProblem
from gpuenv.http.freshness import Validators, max_age
from gpuenv.http.reasons import reason_of
from gpuenv.http.timeouts import MinimumRate, Patience
from gpuenv.i18n.messages import tr
from gpuenv.untrusted.bounds import check_swelling

if TYPE_CHECKING:
    from typing_extensions import Self

_PIECE = 1 << 17
_GZIP = ("gzip", "x-gzip")  # the only encodings that are requested
_WINDOW = 16 + zlib.MAX_WBITS


class Stream:
    """A response and its bytes as they come; `url` is the final one."""

    def __init__(self, response: requests.Response, limits: FetchLimits, patience: Patience) -> None:
        self.url = response.url
        self.unchanged = response.status_code == requests.codes.not_modified
        self.validators = Validators(response.headers.get("ETag"), response.headers.get("Last-Modified"))
        self.max_age_s = max_age(response.headers.get("Cache-Control", ""))
        self._response, self._limits, self._patience = response, limits, patience

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes as they come; raise HttpProblem for a broken or slow connection."""
        pieces = self._received(MinimumRate(self._patience))
        return unpacked(pieces) if is_packed(self._response) else pieces

    def _received(self, pace: MinimumRate) -> Iterator[bytes]:
        read = getattr(self._response.raw, "read1", self._response.raw.read)
        while True:
            try:
                piece = read(_PIECE, decode_content=False)
            except (OSError, HTTPError, ValueError) as error:
                raise HttpProblem(reason_of(error, self._limits)) from error
            if not piece:
                return
            pace.check(len(piece))
            yield piece

    def read(self, limit: int) -> bytes:
        """Read the whole body; raise HttpProblem if it has more than `limit` bytes."""
        body = bytearray()
        for piece in self.pieces():
            body += piece
            if len(body) > limit:
                raise HttpProblem(tr("is larger than {size} MB", size=limit >> 20))
        return bytes(body)


class Streams:
    """Keeps connections between files; safe to use from several threads."""

    def __init__(self, client: HttpClient, patience: Patience | None = None) -> None:
        self._client = client
        self._patience = patience or Patience()
        self._idle: deque[requests.Session] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def open(self, url: str, known: Validators | None = None) -> Iterator[Stream]:
        """Request a file, with `known` only if it changed since; raise HttpProblem for any other status."""
        session = self._borrow()
        limits = self._client.limits
        conditions = known.headers if known else {}
        # other files than JSON are compressed already
        encoding = "gzip" if url.partition("?")[0].endswith(".json") else "identity"
        headers = {**conditions, "Accept-Encoding": encoding}
        timeout = (limits.connect_s, limits.read_s)
        try:
            response = session.get(url, headers=headers, timeout=timeout, stream=True)
        except (OSError, HTTPError, ValueError) as error:
            session.close()
            raise HttpProblem(reason_of(error, limits)) from error
        with response:
            status = response.status_code
            if status != requests.codes.ok and not (conditions and status == requests.codes.not_modified):
                raise HttpProblem(tr("answered {status}", status=status), status)
            yield Stream(response, limits, self._patience)
        self._idle.append(session)

    def _borrow(self) -> requests.Session:
        try:
            return self._idle.pop()
        except IndexError:
            return self._client.open_uncached()


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
