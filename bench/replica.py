"""A replica of PyPI and of the PyTorch index on 127.0.0.1, reached under their own names.

It is a proxy that answers itself: whoever sets HTTPS_PROXY and trusts its certificate authority reads PyPI's
`/simple/` and PyTorch's `/whl/` from here, programs that write those addresses down (such as
`uv --torch-backend`) among them. Every answer can be delayed.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from certificates import Authority
from shelf import Shelf

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = "text/html"
# What the two indexes say about keeping a page; for PyTorch's see
# https://github.com/pytorch/test-infra/blob/main/s3_management/manage.py
_PYPI_KEEPS = "max-age=600, public"
_PYTORCH_KEEPS = "no-cache,no-store,must-revalidate"
_FOR_EVER = "max-age=365000000, immutable, public"


@dataclass
class Replica:
    """The running server; `asked` are the requests since `forget`, `latency_s` delays every answer."""

    shelf: Shelf
    authority: Authority
    keeps: dict[str, str]  # the Cache-Control of pages, by the start of their path
    address: str = ""
    latency_s: float = 0.0
    asked: list[str] = field(default_factory=list)

    def forget(self) -> None:
        """Count from zero."""
        self.asked.clear()

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a program talks to this server."""
        proxy = f"http://{self.address}"
        bundle = str(self.authority.bundle)
        return {"HTTPS_PROXY": proxy, "https_proxy": proxy, "SSL_CERT_FILE": bundle, "PIP_CERT": bundle}


@contextmanager
def serve(shelf: Shelf, authority: Authority, pages_last_s: int | None = None) -> Iterator[Replica]:
    """Run a replica until the block ends; PyTorch's pages may be kept `pages_last_s`, None: not at all."""
    pytorch = _PYTORCH_KEEPS if pages_last_s is None else f"max-age={pages_last_s}"
    replica = Replica(shelf, authority, {"/simple/": _PYPI_KEEPS, "/whl/": pytorch})
    server = _Server(replica)
    replica.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield replica
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, replica: Replica) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replica = replica
        self.tls = replica.authority.context()

    def handle_error(self, *_: object) -> None:
        """Let clients go when they are done."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_CONNECT(self) -> None:
        self.send_response_only(200)
        self.end_headers()
        self.request = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.setup()
        self.close_connection = False  # http.client of older Pythons asks for a tunnel as HTTP/1.0

    def do_GET(self) -> None:
        replica = self.server.replica
        replica.asked.append(f"{self.command} {self.path}")
        time.sleep(replica.latency_s)
        answer = _answer(replica, self.path, self.headers.get("Accept", ""))
        if answer is None:
            self._send(404, {}, b"")
        elif self.headers.get("If-None-Match") == answer.headers["ETag"]:
            self._send(304, answer.headers, b"")
        elif answer.small and "gzip" in self.headers.get("Accept-Encoding", ""):
            self._send(200, {**answer.headers, "Content-Encoding": "gzip"}, _packed(answer.body))
        else:
            self._send(200, answer.headers, answer.body)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 304:  # noqa: PLR2004 - not modified
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@dataclass(frozen=True)
class _Answer:
    body: bytes
    headers: dict[str, str]
    small: bool


def _answer(replica: Replica, path: str, accept: str) -> _Answer | None:
    index = next((prefix for prefix in replica.keeps if path.startswith(prefix)), None)
    as_json = _JSON in accept and index == "/simple/"  # the PyTorch index has HTML alone
    page = replica.shelf.page(path, as_json=as_json) if index and path.endswith("/") else None
    if page is not None and index:
        headers = {"Content-Type": _JSON if as_json else _HTML, "Cache-Control": replica.keeps[index]}
        return _Answer(page, {**headers, "ETag": _etag(page), "Vary": "Accept"}, small=True)
    file = replica.shelf.file(path)
    if file is None:
        return None
    headers = {"Content-Type": "application/octet-stream", "Cache-Control": _FOR_EVER, "ETag": _etag(file)}
    return _Answer(file, headers, small=path.endswith(".metadata"))


@lru_cache(maxsize=4096)
def _etag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


@lru_cache(maxsize=4096)
def _packed(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)
