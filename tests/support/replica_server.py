"""Servers on addresses of their own in 127.0.0.0/8, and the faults that they are told to have.

Mirrors differ by their hosts, so each replica listens on another address: a link that leads from 127.0.0.8 to
127.0.0.2 has left the mirror.
"""

from __future__ import annotations

import re
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

HAS_LOOPBACK_NET = sys.platform == "linux"  # elsewhere 127.0.0.1 alone is there

Fault = Literal[
    "403", "404", "500", "503", "504",  # that status, with a page of text
    "hang", "slow", "trickle",  # never an answer; one after SLOW_S; one that comes in drops
    "reset",  # the connection breaks before an answer
    "cut",  # ... in the middle of a file; the next request may go on from there
    "stall",  # a file's first half, then nothing more
    "cut-once", "reset-once", "503-once",  # only the first time
    "truncated",  # a file's first half, as if it were the whole
    "wrong",  # other bytes, as many
    "loop",  # sends round in a circle
    "portal",  # sends to a page that wants a password
    "soft-404",  # a page of text with status 200
    "wrong-type",  # the right bytes, as something else
    "no-ranges",  # always the whole file
]  # fmt: skip

SLOW_S = 0.4
_CHUNK = 1 << 16
_PORTAL = "/a-login-page"
_TEXT = "text/html; charset=utf-8"
_PAGES = {
    "portal": b"<html><head><title>Campus network</title></head><body>Please log in.</body></html>",
    "soft-404": b"<!DOCTYPE html><html><head><title>Mirrors</title></head><body>Welcome.</body></html>",
}
BAN = b"<html><body>Access denied. Identifier: 7f3a-20c1. Tell it to the operators.</body></html>"


@dataclass(frozen=True)
class Asked:
    """A request; `path` is decoded, `query` what stands behind the question mark."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # by names in lower case

    @property
    def accept(self) -> str:
        return self.headers.get("accept", "")


@dataclass(frozen=True)
class Answer:
    """What a replica answers; a file that has no bytes is `size` zeros."""

    body: bytes = b""
    kind: str = _TEXT
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    size: int | None = None
    is_file: bool = False

    @property
    def length(self) -> int:
        return len(self.body) if self.size is None else self.size

    def part(self, first: int, last: int) -> bytes:
        return self.body[first : last + 1] if self.size is None else b"\0" * (last + 1 - first)


def redirect(url: str, status: int = 302) -> Answer:
    return Answer(b"", status=status, headers=(("Location", url),))


NOT_HERE = Answer(b"<html><body>404 Not Found</body></html>", status=404)
FORBIDDEN = Answer(b"<Error><Code>AccessDenied</Code></Error>", "application/xml", 403)


@dataclass
class Replica:
    """One host: `give` answers a request; `asked` are those since `forget`, as (method, path, status)."""

    name: str
    host: str
    give: Callable[[Asked], Answer] = lambda _: NOT_HERE
    url: str = ""
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    agents: list[str | None] = field(default_factory=list)
    sent: int = 0  # bytes of files
    faults: dict[str, Fault] = field(default_factory=dict)
    closing: threading.Event = field(default_factory=threading.Event)
    failed: set[str] = field(default_factory=set)  # paths whose one fault has been

    @contextmanager
    def failing(self, fault: Fault, *parts: str) -> Iterator[None]:
        """Let paths that contain one of `parts` (all, without any) fail, as long as the block lasts."""
        wanted = parts or ("/",)
        self.faults.update(dict.fromkeys(wanted, fault))
        try:
            yield
        finally:
            self.failed.clear()
            for part in wanted:
                self.faults.pop(part, None)

    def fault_of(self, path: str) -> str | None:
        for part, fault in self.faults.items():
            if part in path and not (fault.endswith("-once") and path in self.failed):
                self.failed.add(path)
                return fault.removesuffix("-once")
        return None

    def forget(self) -> None:
        self.asked.clear()
        self.agents.clear()
        self.sent = 0

    def count(self, part: str = "", *, status: int | None = None) -> Counter[str]:
        """Count the requests for paths that contain `part`, or those answered so."""
        return Counter(
            path for _, path, answered in self.asked if part in path and status in (None, answered)
        )

    def files_asked(self) -> Counter[str]:
        """Count the requests that read a wheel, not only its size."""
        read = [path for method, path, status in self.asked if method == "GET" and status in (200, 206)]
        return Counter(path for path in read if path.endswith(".whl"))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    replica: Replica

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        requested = Asked(
            self.command, unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True)), headers
        )
        self.replica.agents.append(headers.get("user-agent"))
        try:
            self._serve(
                requested, None if requested.path == _PORTAL else self.replica.fault_of(requested.path)
            )
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def _serve(self, asked: Asked, fault: str | None) -> None:
        if fault == "hang":
            self._note(asked, 0)
            self.replica.closing.wait()
            self.close_connection = True
        elif fault == "reset":
            self._note(asked, 0)
            self._break()
        else:
            time.sleep(SLOW_S if fault == "slow" else 0)
            answer = self.replica.give(asked) if asked.path != _PORTAL else Answer(_PAGES["portal"])
            self._send(asked, _spoiled(answer, fault, self.path), fault)

    def _send(self, asked: Asked, answer: Answer, fault: str | None) -> None:
        first, last, status = 0, answer.length - 1, answer.status
        wanted = _range_of(asked, answer.length) if answer.is_file and fault != "no-ranges" else None
        headers = dict(answer.headers)
        if wanted is not None and status == 200:
            (first, last), status = wanted, 206 if wanted[0] < answer.length else 416
            headers["Content-Range"] = f"bytes {first}-{last}/{answer.length}"
        if answer.is_file and fault != "no-ranges":
            headers["Accept-Ranges"] = "bytes"
        self._note(asked, status)
        self.send_response(status)
        kind = "application/octet-stream" if fault == "wrong-type" and not answer.is_file else answer.kind
        length = max(0, last + 1 - first)
        facts = {"Content-Type": kind, "Content-Length": str(length), **headers}
        for name, value in facts.items():
            self.send_header(name, value)
        self.end_headers()
        if asked.method == "GET":
            cut = fault in ("cut", "stall") and answer.is_file and length > 1
            drip = SLOW_S / 4 if fault == "trickle" else 0
            self._write(answer, first, first + length // 2 - 1 if cut else last, drip)
            if cut and fault == "stall":
                self.replica.closing.wait()
            if cut:
                self._break()

    def _write(self, answer: Answer, first: int, last: int, drip_s: float) -> None:
        while first <= last:
            time.sleep(drip_s)
            part = answer.part(first, min(last, first + _CHUNK - 1))
            self.replica.sent += len(part) if answer.is_file else 0  # before it is there, and asked about
            self.wfile.write(part)
            first += len(part)

    def _break(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1))
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def _note(self, asked: Asked, status: int) -> None:
        self.replica.asked.append((asked.method, asked.path, status))

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


def _spoiled(answer: Answer, fault: str | None, address: str) -> Answer:
    match fault:
        case "403" | "404" | "500" | "503" | "504":
            spoiled = Answer(BAN if fault == "403" else b"it went wrong", status=int(fault))
        case "loop":
            spoiled = redirect(address)
        case "portal":
            spoiled = redirect(_PORTAL)
        case "soft-404":
            spoiled = Answer(_PAGES["soft-404"])
        case "truncated" if answer.is_file:
            spoiled = replace(answer, body=answer.part(0, answer.length // 2 - 1), size=None)
        case "wrong" if answer.is_file and answer.size is None:
            spoiled = replace(answer, body=bytes(byte ^ 0x55 for byte in answer.body))
        case _:
            spoiled = answer
    return spoiled


def _range_of(asked: Asked, length: int) -> tuple[int, int] | None:
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked.headers.get("range", ""))
    if not match or match.groups() == ("", ""):
        return None
    if not match[1]:
        return max(0, length - int(match[2])), length - 1
    return int(match[1]), min(int(match[2] or length - 1), length - 1)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """Clients that go away are part of the tests."""


@contextmanager
def serving(*replicas: Replica) -> Iterator[None]:
    """Run the replicas' servers until the block ends; each learns its address."""
    servers = [
        _Server((replica.host, 0), type("Handler", (_Handler,), {"replica": replica})) for replica in replicas
    ]
    threads = []
    for replica, server in zip(replicas, servers, strict=True):
        replica.url = f"http://{replica.host}:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        threads.append(thread)
    try:
        yield
    finally:
        for replica in replicas:
            replica.closing.set()
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()
