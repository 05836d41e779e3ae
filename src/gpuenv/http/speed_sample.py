"""Read a part of a large file to measure how fast its server is."""

from __future__ import annotations

import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuenv.http.client import HttpClient
from gpuenv.http.errors import FetchLimits, HttpProblem
from gpuenv.i18n.messages import tr

if TYPE_CHECKING:
    import requests

SAMPLE_BYTES = 2 << 20
_PIECE = 1 << 16
_CONTENT_RANGE = re.compile(r"bytes (?:\d+-\d+|\*)/(\d+)")


class Sample(Struct, frozen=True):
    """How many bytes came in how many seconds, and the file's length; `url` is the final one."""

    received: int
    seconds: float
    length: int | None
    url: str

    @property
    def bytes_per_s(self) -> int:
        """The speed, the wait for the first byte included."""
        return int(self.received / max(self.seconds, 1e-3))


def read_sample(client: HttpClient, url: str, *, count: int = SAMPLE_BYTES, limit_s: float = 3.0) -> Sample:
    """Read up to `count` bytes in the middle of a file, for at most `limit_s` seconds.

    The first byte is requested before: it tells the length, and leaves the time to connect out of the sample.
    Without support for ranges the beginning of the file is read. Raises HttpProblem, also for a text page.
    """
    with client.open_uncached() as session:
        length = _read_part(session, client.limits, url, 0, 1, limit_s).length or 0
        return _read_part(session, client.limits, url, max(0, (length - count) // 2), count, limit_s)


def _read_part(
    session: requests.Session, limits: FetchLimits, url: str, start: int, count: int, limit_s: float
) -> Sample:
    from gpuenv.http.reasons import open_response  # noqa: PLC0415 - loaded with the first request

    headers = {"Range": f"bytes={start}-{start + count - 1}", "Accept-Encoding": "identity"}
    begun = time.monotonic()
    with open_response(session, "GET", url, headers, limits) as response:
        length = _length(response)
        received = _receive(response, count, time.monotonic() + limit_s)
        seconds = time.monotonic() - begun
        if received == count and response.status_code == HTTPStatus.PARTIAL_CONTENT:
            response.raw.release_conn()
    if not received:
        raise HttpProblem(tr("sent no data"))
    return Sample(received, seconds, length, response.url or url)


def _length(response: requests.Response) -> int | None:
    """Return the file's length; raise HttpProblem for a response that is not a file."""
    if response.status_code not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        raise HttpProblem(tr("answered {status}", status=response.status_code), response.status_code)
    if response.headers.get("Content-Type", "").strip().lower().startswith("text/html"):
        raise HttpProblem(tr("returned a text page instead of the file"))
    if response.status_code == HTTPStatus.PARTIAL_CONTENT:
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        return int(match[1]) if match else None
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def _receive(response: requests.Response, count: int, ends: float) -> int:
    read = getattr(response.raw, "read1", response.raw.read)  # as soon as there is any
    received = 0
    while received < count and time.monotonic() < ends:
        piece = read(min(_PIECE, count - received))
        if not piece:
            break
        received += len(piece)
    return received
