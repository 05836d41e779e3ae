"""One large file from one server to disk: resumed where it broke off, checked when it is whole."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

import requests
from urllib3.exceptions import HTTPError

from gpuenv.http.client import HttpClient
from gpuenv.http.errors import HttpProblem
from gpuenv.http.ranges import BrokenFileError
from gpuenv.http.reasons import reason_of
from gpuenv.http.streams import is_packed, unpacked
from gpuenv.http.timeouts import MinimumRate, Patience, StoppedError, TooSlowError, Watch
from gpuenv.i18n.messages import tr
from gpuenv.wheels.archive import WheelProblem, open_local_wheel

_CHUNK = 1 << 17
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)")
_ZIP = b"PK"
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of a file before it is read: None where nobody tells."""

    sha256: str | None = None
    size: int | None = None


def download(
    client: HttpClient,
    url: str,
    part: Path,
    expected: Expected,
    *,
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> str:
    """Read a file into `part`, going on at its end, and return its sha256 once it is whole and right.

    What is in `part` already counts as received. A file without a digest to check it by must at least be a
    whole zip, and is read from its start. Raises HttpProblem where the server can't be read to the end (then
    `part` stays, to go on from, if the digest is known), BrokenFileError where it sent something else (then
    `part` is gone), StoppedError, and OSError for the disk.
    """
    if expected.sha256 is None:
        part.unlink(missing_ok=True)
    try:
        return _Download(client, url, expected, patience or Patience(), watch or Watch()).into(part)
    except BrokenFileError:
        part.unlink(missing_ok=True)
        raise
    except (HttpProblem, StoppedError):
        if expected.sha256 is None:
            part.unlink(missing_ok=True)
        raise


class _Download:
    def __init__(
        self, client: HttpClient, url: str, expected: Expected, patience: Patience, watch: Watch
    ) -> None:
        self._session = client.open_uncached()
        self._limits = client.limits
        self._url, self._expected, self._patience, self._watch = url, expected, patience, watch
        self._digest = sha256()
        self._have = 0
        self._length: int | None = None  # as the server tells it
        self._validator: str | None = None
        self._inherited = False  # whether bytes are among it that this download did not read itself
        self._restarts = 0

    def into(self, part: Path) -> str:
        """Read the file to its end and judge it."""
        with self._session, part.open("a+b") as sink:
            self._take_over(sink)
            while True:
                self._read_all(sink)
                sink.flush()
                if self._is_right(part):
                    return self._digest.hexdigest()
                self._empty(sink)

    def _take_over(self, sink: IO[bytes]) -> None:
        sink.seek(0)
        while chunk := sink.read(_CHUNK):
            self._count(chunk)
        self._inherited = self._have > 0

    def _count(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._have += len(chunk)
        self._watch.received(len(chunk))

    def _empty(self, sink: IO[bytes]) -> None:
        sink.truncate(0)
        self._watch.received(-self._have)
        self._have, self._digest, self._inherited = 0, sha256(), False
        self._length = self._validator = None

    def _begin_anew(self, sink: IO[bytes]) -> None:
        """Forget what there is, because the server can't go on from there."""
        self._restarts += 1
        if self._restarts > self._patience.restarts:
            raise HttpProblem(tr("closed the connection and does not support resuming"))
        self._empty(sink)

    def _is_right(self, part: Path) -> bool:
        """Whether it is what was listed; with bytes of an earlier download in it, it deserves another try."""
        stated = self._expected.sha256
        if stated is None:
            _check_zip(part)
            return True
        digest = self._digest.hexdigest()
        if digest == stated.lower() or self._inherited:
            return digest == stated.lower()
        raise BrokenFileError(
            tr(
                "differs from the file that was listed: its sha256 is {found}…, expected {told}…",
                found=digest[:12],
                told=stated[:12],
            )
        )

    def _read_all(self, sink: IO[bytes]) -> None:
        """Ask until nothing is missing."""
        idle = breaks = 0
        while not self._is_complete():
            before = self._have
            try:
                self._ask(sink)
            except HttpProblem as problem:
                idle, breaks = (0 if self._have > before else idle + 1), breaks + 1
                if not _may_pass(problem) or idle >= self._patience.tries or breaks >= self._patience.breaks:
                    raise
                self._rest(idle)

    def _is_complete(self) -> bool:
        size = self._expected.size if self._length is None else self._length
        return size is not None and self._have >= size

    def _rest(self, idle: int) -> None:
        pause_s = min(_LONGEST_PAUSE_S, self._patience.pause_s * 2 ** (idle - 1)) if idle else 0.0
        (self._watch.stop or threading.Event()).wait(pause_s)

    def _ask(self, sink: IO[bytes]) -> None:
        """Make one request and keep what it brings."""
        with self._answered() as response:
            left = self._left(response, sink)
            if left == 0:
                return
            for chunk in self._chunks(response, left):
                if self._have == 0:
                    self._check_start(chunk, response)
                sink.write(chunk)
                self._count(chunk)
                self._check_end()
        if left is None:
            self._length = self._have

    @contextmanager
    def _answered(self) -> Iterator[requests.Response]:
        headers = {"Accept-Encoding": "identity"}
        if self._have:
            headers["Range"] = f"bytes={self._have}-"
            if self._validator and self._expected.sha256 is None:
                headers["If-Range"] = self._validator
        timeout = (self._limits.connect_s, self._limits.read_s)
        if self._watch.is_stopped:
            raise StoppedError
        with self._telling():
            response = self._session.get(self._url, headers=headers, timeout=timeout, stream=True)
        with response:
            yield response

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn what stops the network, and that alone, into a problem of the server's."""
        try:
            yield
        except (OSError, HTTPError, ValueError) as error:
            raise HttpProblem(reason_of(error, self._limits)) from error

    def _left(self, response: requests.Response, sink: IO[bytes]) -> int | None:
        """Return how many bytes come, 0 where none are of use, None where the server does not tell."""
        status = response.status_code
        if self._have and status in (requests.codes.partial, requests.codes.range_not_satisfiable):
            return self._rest_of(response, sink)
        if status != requests.codes.ok:
            raise HttpProblem(tr("answered {status}", status=status), status)
        if self._have:
            self._begin_anew(sink)
        self._validator = _validator(response)
        length = response.headers.get("Content-Length", "")
        if not length.isdecimal() or response.headers.get("Content-Encoding", "identity") != "identity":
            return None
        self._length = int(length)
        return self._length

    def _rest_of(self, response: requests.Response, sink: IO[bytes]) -> int:
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        first, last, length = match.groups() if match else (None, None, None)
        if response.status_code != requests.codes.partial and length and int(length) == self._have:
            self._length = self._have  # nothing was missing
            return 0
        if first is None or last is None or int(first) != self._have or int(last) < self._have:
            self._begin_anew(sink)
            return 0
        self._learn(int(length or 0))
        return int(last) + 1 - self._have

    def _learn(self, length: int) -> None:
        if self._length is not None and length != self._length:
            raise BrokenFileError(tr("was replaced while it was read"))
        self._length = length
        self._check_length()

    def _check_length(self) -> None:
        listed = self._expected.size
        if listed is not None and self._length is not None and self._length != listed:
            raise BrokenFileError(
                tr("has {length} bytes, but its index lists {told}", length=self._length, told=listed)
            )

    def _check_start(self, chunk: bytes, response: requests.Response) -> None:
        is_text = response.headers.get("Content-Type", "").startswith("text/") or chunk.lstrip()[:1] == b"<"
        if is_text and not chunk.startswith(_ZIP[: len(chunk)]):
            raise BrokenFileError(tr("is a text page, not a wheel"))
        self._check_length()

    def _check_end(self) -> None:
        """Raise BrokenFileError where more comes than the file can have."""
        listed = self._expected.size
        if listed is not None and self._have > listed:
            raise BrokenFileError(tr("has more than the {told} bytes that its index says", told=listed))
        if self._have > self._limits.file_bytes:
            raise BrokenFileError(tr("is larger than {size} MB", size=self._limits.file_bytes >> 20))

    def _chunks(self, response: requests.Response, left: int | None) -> Iterator[bytes]:
        """Yield what comes as it comes, unpacked where the server packs it unasked."""
        pieces = self._received(response, left)
        return unpacked(pieces) if is_packed(response) else pieces

    def _received(self, response: requests.Response, left: int | None) -> Iterator[bytes]:
        """Yield what the connection brings: `read` would wait for a whole piece, however slow it is."""
        pace = MinimumRate(self._patience)
        read = getattr(response.raw, "read1", response.raw.read)
        while left is None or left > 0:
            if self._watch.is_stopped:
                raise StoppedError
            with self._telling():
                chunk = read(_CHUNK if left is None else min(_CHUNK, left), decode_content=False)
            if not chunk and left is None:
                return
            if not chunk:
                raise HttpProblem(tr("broke the connection"))
            left = None if left is None else left - len(chunk)
            yield chunk
            pace.check(len(chunk))


def _may_pass(problem: HttpProblem) -> bool:
    """Whether another request may go better: the connection failed, not what was asked for."""
    lasting = isinstance(problem.__cause__, (requests.TooManyRedirects, ValueError))
    return problem.status is None and not lasting and not isinstance(problem, TooSlowError)


def _validator(response: requests.Response) -> str | None:
    """Return what tells this very file from another at its address (RFC 9110, 13.1.5); no weak ETag does."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def _check_zip(part: Path) -> None:
    try:
        open_local_wheel(part).close()
    except WheelProblem as problem:
        raise BrokenFileError(problem.reason) from None
