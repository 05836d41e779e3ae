"""Parts of a file on a server, by ranged requests; every byte received is counted.

https://www.rfc-editor.org/rfc/rfc9110#name-range-requests
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import requests
from urllib3.exceptions import HTTPError

from gpuenv.http.client import HttpClient
from gpuenv.http.errors import HttpProblem
from gpuenv.http.reasons import reason_of
from gpuenv.http.timeouts import MinimumRate, Patience
from gpuenv.i18n.messages import tr

_CHUNK = 1 << 16
_PATIENCE = Patience(slow_bytes=20 << 10)  # parts are small, and lines may be slow
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class NoRangesError(Exception):
    """The server answers with whole files only."""


class BrokenFileError(Exception):
    """The file is not what its server says it is; the text reads after its name."""


class ByteRanges:
    """One file on a server, of which parts are read; `received` counts the bytes of all bodies so far.

    `length` is that of the file, known after the first part. Raises HttpProblem where the server can't be
    read, NoRangesError, and BrokenFileError where it contradicts itself. For one thread at a time.
    """

    def __init__(self, client: HttpClient, url: str, *, length: int | None = None) -> None:
        """Take what the index says is the file's `length`; nothing is asked yet."""
        self.url = url
        self.length: int | None = None
        self.received = 0
        self._told = length
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
        """Ask for a part; a second time where a server stalls, which one of many requests will meet."""
        try:
            return self._ask_part(wanted, most)
        except HttpProblem as problem:
            if problem.status is not None:
                raise
        return self._ask_part(wanted, most)

    def _ask_part(self, wanted: str, most: int) -> tuple[int, bytes]:
        with self._asked("GET", {"Range": wanted}) as response:
            first, last = self._check(response)
            if last - first >= most:
                raise BrokenFileError(tr("is sent in other parts than were asked for"))
            part = self._body(response, last - first + 1)
        return first, part

    def _check(self, response: requests.Response) -> tuple[int, int]:
        status = response.status_code
        if status in (requests.codes.ok, requests.codes.requested_range_not_satisfiable):
            raise NoRangesError
        if status != requests.codes.partial_content:
            raise HttpProblem(tr("answered {status}", status=status), status)
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        if not match or response.headers.get("Content-Encoding", "identity") != "identity":
            raise NoRangesError
        first, last, length = (int(number) for number in match.groups())
        if not first <= last < length:
            raise BrokenFileError(tr("differs in length from what its server announced"))
        self._learn(length)
        return first, last

    def _learn(self, length: int) -> None:
        if self._told is not None and length != self._told:
            raise BrokenFileError(
                tr("has {length} bytes, but its index lists {told}", length=length, told=self._told)
            )
        if self.length is not None and length != self.length:
            raise BrokenFileError(tr("was replaced while it was read"))
        self.length = length

    def _body(self, response: requests.Response, count: int) -> bytes:
        """Read as much as was announced and no more: the rest is no part of the file."""
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
        with self._asked("HEAD", {}) as response:
            message = response.headers.get("Content-Length", "")
        if response.status_code != requests.codes.ok or not message.isdecimal() or not int(message):
            raise NoRangesError
        return int(message)

    @contextmanager
    def _asked(self, method: str, headers: dict[str, str]) -> Iterator[requests.Response]:
        timeout = (self._limits.connect_s, self._limits.read_s)
        named = {"Accept-Encoding": "identity", **headers}
        try:
            with self._session.request(
                method, self.url, headers=named, timeout=timeout, stream=True
            ) as response:
                yield response
        except (OSError, HTTPError, ValueError) as error:
            raise HttpProblem(reason_of(error, self._limits)) from error
