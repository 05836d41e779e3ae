"""A server of one large file: slow, each connection for itself, and wrong where it is told to be."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler

from serving import Site, serve

_PIECE = 1 << 12


@dataclass(frozen=True)
class FileRequest:
    """A request: its number, its headers by names in lower case, and the bytes it wants, None: all."""

    number: int
    headers: dict[str, str]
    wanted: tuple[int, int | None] | None


@dataclass(frozen=True)
class FileReply:
    """What is sent: a file, or a part of it by its first and last byte; the connection may stall or break.

    `claims` is what Content-Range says instead of the truth.
    """

    content: bytes
    part: tuple[int, int] | None = None
    status: int | None = None
    etag: str | None = '"one"'
    accepts: bool = True
    claims: str | None = None
    stalls_after: int | None = None
    breaks_after: int | None = None


Answering = Callable[[FileRequest, FileReply], FileReply]


@dataclass
class FileServer:
    """`answering` changes what a well-behaved server would send; `sent` counts the bytes of the file."""

    content: bytes
    pause_s: float = 0.004
    shares_line: bool = False  # one piece at a time, whoever gets it
    answering: Answering = lambda _, reply: reply
    asked: list[FileRequest] = field(default_factory=list)
    sent: int = 0
    at_a_time: int = 0
    most_at_a_time: int = 0
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _line: threading.Lock = field(default_factory=threading.Lock)

    @property
    def firsts(self) -> list[int]:
        """The first bytes that were asked for."""
        return [0 if request.wanted is None else request.wanted[0] for request in self.asked]

    def answer(self, request: BaseHTTPRequestHandler, closing: threading.Event) -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._lock:
            asked = FileRequest(len(self.asked), headers, _wanted(headers.get("range", "")))
            self.asked.append(asked)
            self.at_a_time += 1
            self.most_at_a_time = max(self.most_at_a_time, self.at_a_time)
        try:
            self._send(request, self.answering(asked, self._right(asked)), closing)
        finally:
            with self._lock:
                self.at_a_time -= 1

    def _right(self, asked: FileRequest) -> FileReply:
        whole = FileReply(self.content)
        if asked.wanted is None or asked.headers.get("if-range", whole.etag) != whole.etag:
            return whole
        first, last = asked.wanted
        end = len(self.content) - 1
        return replace(whole, part=(first, end if last is None else min(last, end)))

    def _send(self, request: BaseHTTPRequestHandler, reply: FileReply, closing: threading.Event) -> None:
        first, last = reply.part or (0, len(reply.content) - 1)
        request.send_response(reply.status or (206 if reply.part else 200))
        headers = {"Content-Length": str(last + 1 - first), "ETag": reply.etag}
        if reply.part:
            headers["Content-Range"] = reply.claims or f"bytes {first}-{last}/{len(reply.content)}"
        if reply.accepts:
            headers["Accept-Ranges"] = "bytes"
        for name, value in headers.items():
            if value is not None:
                request.send_header(name, value)
        request.end_headers()
        self._write(request, reply, first, last + 1, closing)

    def _write(
        self,
        request: BaseHTTPRequestHandler,
        reply: FileReply,
        first: int,
        end: int,
        closing: threading.Event,
    ) -> None:
        position = first
        while position < end:
            if reply.breaks_after is not None and position - first >= reply.breaks_after:
                request.close_connection = True
                return
            if reply.stalls_after is not None and position - first >= reply.stalls_after:
                closing.wait()
                return
            with self._line if self.shares_line else nullcontext():
                time.sleep(self.pause_s)
            piece = reply.content[position : min(end, position + _PIECE)]
            request.wfile.write(piece)
            position += len(piece)
            with self._lock:
                self.sent += len(piece)


def _wanted(text: str) -> tuple[int, int | None] | None:
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", text)
    return (int(match[1]), int(match[2]) if match[2] else None) if match else None


@contextmanager
def serve_file(path: str, content: bytes) -> Iterator[FileServer]:
    """Serve a file at a path until the block ends."""
    site: Site
    with serve() as site:
        server = FileServer(content, url=f"{site.url}{path}")
        site.at(path, lambda request: server.answer(request, site.closing))
        yield server
