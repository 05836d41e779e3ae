"""Large files that are read as they come and kept nowhere, asked for only where they changed."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import requests
from urllib3.exceptions import HTTPError

from gpuenv.http.client import HttpClient
from gpuenv.http.errors import FetchLimits, HttpProblem
from gpuenv.http.reasons import reason_of
from gpuenv.http.timeouts import MinimumRate, Patience
from gpuenv.http.unpacking import is_packed, unpacked
from gpuenv.i18n.messages import tr

if TYPE_CHECKING:
    from typing_extensions import Self

_PIECE = 1 << 17
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Validators:
    """What tells one state of a file from another (RFC 9110, 8.8)."""

    etag: str | None = None
    last_modified: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers that ask for the file only if it changed."""
        requested = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in requested.items() if value}


class Stream:
    """An answer: what it says of itself, and its bytes as they come. `url` is the final one."""

    def __init__(self, response: requests.Response, limits: FetchLimits, patience: Patience) -> None:
        self.url = response.url
        self.unchanged = response.status_code == requests.codes.not_modified
        self.validators = Validators(response.headers.get("ETag"), response.headers.get("Last-Modified"))
        self.max_age_s = _max_age(response.headers.get("Cache-Control", ""))
        self._response, self._limits, self._patience = response, limits, patience

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes as they come; raise HttpProblem where the server breaks off or is too slow."""
        pieces = self._received(MinimumRate(self._patience))
        return unpacked(pieces) if is_packed(self._response) else pieces

    def _received(self, pace: MinimumRate) -> Iterator[bytes]:
        """Yield what comes as it comes; what it is unpacked to may be nothing, and costs time too."""
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
        """Read it whole; raise HttpProblem if it has more than `limit` bytes."""
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
        """Ask for a file; with `known`, only if it changed since. Raises HttpProblem for any refusal."""
        session = self._borrow()
        limits = self._client.limits
        headers = {**(known.headers if known else {}), "Accept-Encoding": _encodings(url)}
        try:
            response = session.get(
                url, headers=headers, timeout=(limits.connect_s, limits.read_s), stream=True
            )
        except (OSError, HTTPError, ValueError) as error:
            session.close()
            raise HttpProblem(reason_of(error, limits)) from error
        with response:
            expected = (
                requests.codes.ok,
                *((requests.codes.not_modified,) if headers.keys() - {"Accept-Encoding"} else ()),
            )
            if response.status_code not in expected:
                raise HttpProblem(tr("answered {status}", status=response.status_code), response.status_code)
            yield Stream(response, limits, self._patience)
        self._idle.append(session)

    def _borrow(self) -> requests.Session:
        try:
            return self._idle.pop()
        except IndexError:
            return self._client.open_uncached()


def _encodings(url: str) -> str:
    """What is compressed already must come as it is; a page of text may be compressed on its way."""
    return "gzip" if url.partition("?")[0].endswith(".json") else "identity"


def _max_age(cache_control: str) -> int:
    """Return for how many seconds an answer may be taken for the file's state; 0 where it is not told."""
    match = _MAX_AGE.search(cache_control)
    return (
        int(match[1]) if match and "no-cache" not in cache_control and "no-store" not in cache_control else 0
    )
