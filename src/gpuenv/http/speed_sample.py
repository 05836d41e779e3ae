"""A part of a large file, read to learn how fast its server is."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import requests
from urllib3.exceptions import HTTPError

from gpuenv.http.client import HttpClient
from gpuenv.http.errors import FetchLimits, HttpProblem
from gpuenv.http.reasons import reason_of
from gpuenv.i18n.messages import tr

SAMPLE_BYTES = 2 << 20
_PIECE = 1 << 16
_CONTENT_RANGE = re.compile(r"bytes (?:\d+-\d+|\*)/(\d+)")


@dataclass(frozen=True, slots=True)
class Sample:
    """What came in how many seconds, and what its server says of the file; `url` is the one that answered."""

    received: int
    seconds: float
    length: int | None
    url: str

    @property
    def bytes_per_s(self) -> int:
        """The pace, the wait for the first byte included."""
        return int(self.received / max(self.seconds, 1e-3))


def read_sample(client: HttpClient, url: str, *, count: int = SAMPLE_BYTES, limit_s: float = 3.0) -> Sample:
    """Read up to `count` bytes in the middle of a file, for at most `limit_s` seconds after they begin.

    The first byte is asked for beforehand: it tells the file's length, and spares the measure the time that
    it takes to connect. Of a server that knows no ranges the file's beginning is read, and no more of it.
    Raises HttpProblem where the server can't be read, or answers with a page of text.
    """
    with client.open_uncached() as session:
        query = _Asked(session, client.limits, url)
        length = query.part("bytes=0-0", 1, limit_s).length or 0
        start = max(0, (length - count) // 2)
        return query.part(f"bytes={start}-{start + count - 1}", count, limit_s)


@dataclass(frozen=True, slots=True)
class _Asked:
    session: requests.Session
    limits: FetchLimits
    url: str

    def part(self, wanted: str, count: int, limit_s: float) -> Sample:
        """Ask for a part; stop at `count` bytes, or when the time is up."""
        headers = {"Range": wanted, "Accept-Encoding": "identity"}
        timeout = (self.limits.connect_s, self.limits.read_s)
        begun = time.monotonic()
        try:
            with self.session.get(self.url, headers=headers, timeout=timeout, stream=True) as response:
                length = _length(response)
                received = _receive(response, count, time.monotonic() + limit_s)
                seconds = time.monotonic() - begun
                if received == count and response.status_code == requests.codes.partial_content:
                    response.raw.release_conn()
        except (OSError, HTTPError, ValueError) as error:
            raise HttpProblem(reason_of(error, self.limits)) from error
        if not received:
            raise HttpProblem(tr("sent no data"))
        return Sample(received, seconds, length, response.url or self.url)


def _length(response: requests.Response) -> int | None:
    """The file's length; raise HttpProblem for an answer that is no file."""
    if response.status_code not in (requests.codes.ok, requests.codes.partial_content):
        raise HttpProblem(tr("answered {status}", status=response.status_code), response.status_code)
    if response.headers.get("Content-Type", "").strip().lower().startswith("text/html"):
        raise HttpProblem(tr("returned a text page instead of the file"))
    if response.status_code == requests.codes.partial_content:
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        return int(match[1]) if match else None
    message = response.headers.get("Content-Length", "")
    return int(message) if message.isdecimal() else None


def _receive(response: requests.Response, count: int, ends: float) -> int:
    read = getattr(response.raw, "read1", response.raw.read)  # as soon as there is any
    received = 0
    while received < count and time.monotonic() < ends:
        piece = read(min(_PIECE, count - received))
        if not piece:
            break
        received += len(piece)
    return received
