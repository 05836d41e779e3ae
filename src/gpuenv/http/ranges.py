"""Parts of a file on a server, by ranged requests; every byte received is counted.

https://www.rfc-editor.org/rfc/rfc9110#name-range-requests
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import TYPE_CHECKING

from gpuenv.http.client import HttpClient
from gpuenv.http.errors import HttpProblem
from gpuenv.http.timeouts import MinimumRate, Patience
from gpuenv.i18n.messages import tr

if TYPE_CHECKING:
    import requests

_CHUNK = 1 << 16
_PATIENCE = Patience(slow_bytes=20 << 10)  # parts are small, and lines may be slow
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class NoRangesError(Exception):
    """The server answers with whole files only."""


class BrokenFileError(Exception):
    """The file is not what its server says it is; the text reads after its name."""


class ByteRanges:
    """A file read in parts, not thread-safe; raises HttpProblem, NoRangesError and BrokenFileError."""

    def __init__(self, client: HttpClient, url: str, *, length: int | None = None) -> None:
        """Prepare to read a file whose index lists `length`; no request is made yet."""
        self.url = url
        self.length: int | None = None
        self.received = 0
        self._listed = length
        self._limits = client.limits
        self._session = client.open_uncached()

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def read_tail(self, count: int) -> bytes:
        """Read the last `count` bytes, or the whole file where it has less."""
        try:
            return self._part(f"bytes=-{count}", count)[1]
        except NoRangesError:  # some servers know ranges, but not those that count from the end
            length = self._ask_length()
            return self.read(max(0, length - count), length)

    def read(self, start: int, end: int) -> bytes:
        """Read the bytes from `start` up to, not including, `end`."""
        if not 0 <= start < end or (self.length is not None and end > self.length):
            raise BrokenFileError(tr("names a part that it does not have"))
        begins, part = self._part(f"bytes={start}-{end - 1}", end - start)
        if begins != start or len(part) != end - start:
            raise BrokenFileError(tr("differs in length from what its server announced"))
        return part

    def _part(self, wanted: str, most: int) -> tuple[int, bytes]:
        """Request a part, a second time where the server stalls, as one of many requests does."""
        try:
            return self._ask_part(wanted, most)
        except HttpProblem as problem:
            if problem.status is not None:
                raise
        return self._ask_part(wanted, most)

    def _ask_part(self, wanted: str, most: int) -> tuple[int, bytes]:
        with self._open("GET", Range=wanted) as response:
            first, last = self._check(response)
            if last - first >= most:
                raise BrokenFileError(tr("is sent in other parts than were asked for"))
            return first, self._body(response, last - first + 1)

    def _check(self, response: requests.Response) -> tuple[int, int]:
        status = response.status_code
        if status in (HTTPStatus.OK, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
            raise NoRangesError
        if status != HTTPStatus.PARTIAL_CONTENT:
            raise HttpProblem(tr("answered {status}", status=status), status)
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        if not match or response.headers.get("Content-Encoding", "identity") != "identity":
            raise NoRangesError
        first, last, length = (int(number) for number in match.groups())
        if not first <= last < length:
            raise BrokenFileError(tr("differs in length from what its server announced"))
        if self._listed not in (None, length):
            raise BrokenFileError(
                tr("has {length} bytes, but its index lists {told}", length=length, told=self._listed)
            )
        if self.length not in (None, length):
            raise BrokenFileError(tr("was replaced while it was read"))
        self.length = length
        return first, last

    def _body(self, response: requests.Response, count: int) -> bytes:
        """Read as many bytes as were announced."""
        body = bytearray()
        pace = MinimumRate(_PATIENCE)
        read = getattr(response.raw, "read1", response.raw.read)  # as soon as there is any
        while len(body) < count:
            chunk = read(min(_CHUNK, count - len(body)))
            if not chunk:
                raise BrokenFileError(tr("differs in length from what its server announced"))
            body += chunk
            self.received += len(chunk)
            pace.check(len(chunk))
        return bytes(body)

    def _ask_length(self) -> int:
        with self._open("HEAD") as response:
            length = response.headers.get("Content-Length", "")
        if response.status_code != HTTPStatus.OK or not length.isdecimal() or not int(length):
            raise NoRangesError
        return int(length)

    def _open(self, method: str, **headers: str) -> AbstractContextManager[requests.Response]:
        from gpuenv.http.reasons import open_response  # noqa: PLC0415 - loaded with the first request

        named = {"Accept-Encoding": "identity", **headers}
        return open_response(self._session, method, self.url, named, self._limits)
