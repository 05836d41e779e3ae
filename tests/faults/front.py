"""An index that does wrong: it hangs, drips, breaks off, lies about lengths, hands out other bytes."""

from __future__ import annotations

import gzip
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote, urlsplit

from index_server import IndexServer

_HTML = "text/html; charset=utf-8"
_LOGIN = b"<!DOCTYPE html><html><head><title>Log in</title></head><body>Please log in</body></html>"


@dataclass
class Front:
    """The pages and files of an index; `faults` are what goes wrong, by a part of the path."""

    index: IndexServer
    url: str = ""
    faults: dict[str, str] = field(default_factory=dict)
    closing: threading.Event = field(default_factory=threading.Event)

    def fault_of(self, path: str) -> str | None:
        return next((fault for part, fault in self.faults.items() if part in path), None)

    def answer(self, path: str, accept: str) -> tuple[int, str, bytes]:
        """Return status, type and body as they should be."""
        page = self.index.page(unquote(path), accept)
        file = self.index.files.get(quote(unquote(path), safe="/"))
        if page is not None:
            return 200, page.content_type, page.body
        if file is not None and file.content is not None:
            return 200, "application/zip", file.content
        return 404, "text/plain", b"not here"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    front: Front

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        status, kind, body = self.front.answer(path, self.headers.get("Accept", ""))
        fault = self.front.fault_of(path)
        if fault is None:
            self.send(status, kind, body)
        elif fault.isdigit():
            self.send(int(fault), "text/plain", b"it went wrong")
        else:
            self.close_connection = True
            _FAULTS[fault](self, kind, body)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def send(self, status: int, kind: str, body: bytes, **more: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in {**headers, **{key.replace("_", "-"): it for key, it in more.items()}}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


def _hang(request: _Handler, _: str, __: bytes) -> None:
    request.front.closing.wait(LONGEST_S)


def _drip(request: _Handler, kind: str, body: bytes) -> None:
    request.send(200, kind, b"", Content_Length=str(len(body)))
    until = time.monotonic() + LONGEST_S
    for number in range(len(body)):
        if request.front.closing.wait(0.2) or time.monotonic() > until:
            return
        request.wfile.write(body[number : number + 1])


def _reset(request: _Handler, _: str, __: bytes) -> None:
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.connection.close()


def _half(request: _Handler, kind: str, body: bytes) -> None:
    request.send(200, kind, body[: len(body) // 2], Content_Length=str(len(body)))


def _too_long(request: _Handler, kind: str, body: bytes) -> None:
    request.send(200, kind, body, Content_Length=str(len(body) + 1000))


def _too_short(request: _Handler, kind: str, body: bytes) -> None:
    request.send(200, kind, body, Content_Length=str(max(len(body) - 7, 0)))


def _flipped(request: _Handler, kind: str, body: bytes) -> None:
    middle = len(body) // 2
    request.send(
        200, kind, body[:middle] + bytes([body[middle] ^ 0xFF]) + body[middle + 1 :] if body else b""
    )


def _endless(request: _Handler, kind: str, _: bytes) -> None:
    request.send_response(200)
    request.send_header("Content-Type", kind)
    request.end_headers()
    until = time.monotonic() + LONGEST_S
    while not request.front.closing.is_set() and time.monotonic() < until:
        request.wfile.write(b"<a href='x'>x</a>\n" * 4096)


def _loop(request: _Handler, _: str, __: bytes) -> None:
    request.send(302, "text/plain", b"", Location=request.path)


def _packed(request: _Handler, kind: str, body: bytes) -> None:
    request.send(200, kind, gzip.compress(body)[:-9], Content_Encoding="gzip")


def _bomb(request: _Handler, kind: str, _: bytes) -> None:
    request.send(200, kind, gzip.compress(b"<a>" * (64 << 20)), Content_Encoding="gzip")


def _page(text: bytes) -> Callable[[_Handler, str, bytes], None]:
    return lambda request, _, __: request.send(200, _HTML, text)


LONGEST_S = 60.0
_FAULTS: dict[str, Callable[[_Handler, str, bytes], None]] = {
    "hang": _hang,
    "drip": _drip,
    "reset": _reset,
    "half": _half,
    "too-long": _too_long,
    "too-short": _too_short,
    "flipped": _flipped,
    "endless": _endless,
    "loop": _loop,
    "packed": _packed,
    "bomb": _bomb,
    "login": _page(_LOGIN),
    "nothing": _page(b""),
    "zeros": _page(b"\0" * 4096),
    "deep": _page(b"<a>" * 100_000),
    "json": lambda request, _, __: request.send(
        200, "application/vnd.pypi.simple.v1+json", b'{"files": [' + b"[" * 100_000
    ),
    "protocol": lambda request, _, __: request.wfile.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n"),
}
FAULTS = (*_FAULTS, "500", "502", "503", "404", "403", "429")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """Clients that go away are part of it."""


@contextmanager
def serve_front(index: IndexServer) -> Iterator[Front]:
    """Run it until the block ends."""
    front = Front(index)
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"front": front}))
    front.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield front
    finally:
        front.closing.set()
        server.shutdown()
        server.server_close()
