"""A file, or a part of it, from a server: what the answer says, then the bytes as they come.

https://www.rfc-editor.org/rfc/rfc9110#name-range-requests
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuenv.http.client import HttpClient
from gpuenv.http.errors import FetchLimits, HttpProblem
from gpuenv.http.streams import is_packed, unpacked
from gpuenv.i18n.messages import tr

if TYPE_CHECKING:
    import requests

_CHUNK = 1 << 18
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)")
_READABLE = (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)


class FileAnswer(Struct, frozen=True):
    """What a server says it sends.

    `first` is the position of the first byte, None where the answer names no part that can be used; `left`
    is how many bytes come, `length` how many the file has: None where it is not said.
    """

    status: int
    first: int | None
    left: int | None
    length: int | None
    validator: str | None
    in_ranges: bool
    is_text: bool

    @property
    def is_whole(self) -> bool:
        """Whether the file comes from its start."""
        return self.status == HTTPStatus.OK

    @property
    def is_beyond(self) -> bool:
        """Whether the part that was asked for starts behind the end."""
        return self.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE


class FileReader:
    """One connection that reads one file after another part of it; `interrupt` alone is thread-safe."""

    def __init__(self, client: HttpClient, url: str) -> None:
        self._url = url
        self._limits = client.limits
        self._session = client.open_uncached()
        self._response: requests.Response | None = None
        self.is_connected = False  # so that the next request needs no new connection

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def interrupt(self) -> None:
        """End the read that another thread waits in."""
        response = self._response
        if response is not None:
            with suppress(OSError, ValueError, RuntimeError, AttributeError):
                response.raw.shutdown()

    @contextmanager
    def ask(
        self, first: int, end: int | None, if_range: str | None = None
    ) -> Iterator[tuple[FileAnswer, Iterator[bytes]]]:
        """Request the bytes from `first` up to, not including, `end`; None: all that follow.

        Raises HttpProblem, also while the bytes are read. The connection serves the next request if all of
        them are.
        """
        from gpuenv.http.reasons import open_response  # noqa: PLC0415 - loaded with the first request

        headers = {"Accept-Encoding": "identity"}
        if first or end is not None:
            headers["Range"] = f"bytes={first}-{'' if end is None else end - 1}"
        if first and if_range:
            headers["If-Range"] = if_range
        with open_response(self._session, "GET", self._url, headers, self._limits) as response:
            self._response, self.is_connected = response, False
            try:
                answer = _read_answer(response, ranged="Range" in headers)
                yield answer, self._chunks(response, answer.left)
            finally:
                self._response = None

    def _chunks(self, response: requests.Response, left: int | None) -> Iterator[bytes]:
        """Yield what comes as it comes, unpacked where the server packs it unasked."""
        pieces = self._received(response, left)
        return unpacked(pieces) if is_packed(response) else pieces

    def _received(self, response: requests.Response, left: int | None) -> Iterator[bytes]:
        """Yield what the connection brings: `read` would wait for a whole piece, however slow it is."""
        while left is None or left > 0:
            chunk = _read(response, _CHUNK if left is None else min(_CHUNK, left), self._limits)
            if not chunk and left is None:
                return
            if not chunk:
                raise HttpProblem(tr("broke the connection"))
            left = None if left is None else left - len(chunk)
            if left == 0:
                response.raw.release_conn()
                self.is_connected = True
            yield chunk


def _read(response: requests.Response, most: int, limits: FetchLimits) -> bytes:
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - loaded with the first request

    from gpuenv.http.reasons import reason_of  # noqa: PLC0415

    read = getattr(response.raw, "read1", response.raw.read)
    try:
        chunk: bytes = read(most, decode_content=False)
    except (OSError, HTTPError, ValueError) as error:
        raise HttpProblem(reason_of(error, limits)) from error
    return chunk


def _read_answer(response: requests.Response, *, ranged: bool) -> FileAnswer:
    status = response.status_code
    if status not in _READABLE or (status != HTTPStatus.OK and not ranged):
        raise HttpProblem(tr("answered {status}", status=status), status)
    length = response.headers.get("Content-Length", "")
    plain = response.headers.get("Content-Encoding", "identity") == "identity"
    size = int(length) if length.isdecimal() and plain else None
    first: int | None = 0
    left = size
    if status != HTTPStatus.OK:
        first, left, size = _read_part(response.headers.get("Content-Range", ""), plain=plain)
    in_ranges = status != HTTPStatus.OK or "bytes" in response.headers.get("Accept-Ranges", "").lower()
    is_text = response.headers.get("Content-Type", "").startswith("text/")
    return FileAnswer(status, first, left, size, _validator(response), in_ranges and plain, is_text)


def _read_part(text: str, *, plain: bool) -> tuple[int | None, int | None, int | None]:
    """Return the first byte, how many come and the file's length; samples: `bytes 5-9/10`, `bytes */10`."""
    match = _CONTENT_RANGE.fullmatch(text.strip())
    if not match or not plain:
        return None, None, None
    first, last, length = (None if number is None else int(number) for number in match.groups())
    if first is None or last is None or length is None:
        return None, None, length
    return (first, last + 1 - first, length) if first <= last < length else (None, None, length)


def _validator(response: requests.Response) -> str | None:
    """Return what tells this very file from another at its address (RFC 9110, 13.1.5); no weak ETag does."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")
