"""A company's proxy: passes on requests, and tunnels (CONNECT), for who has its password."""

from __future__ import annotations

import base64
import http.client
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_HOP_BY_HOP = ("connection", "keep-alive", "proxy-authorization", "transfer-encoding", "content-length")


@dataclass
class Proxy:
    """`address` is its host and port; `passed` are the methods and addresses that it passed on.

    `names` are hosts that only it knows, with where they are.
    """

    login: str
    address: str = ""
    names: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    refused: int = 0

    @property
    def url(self) -> str:
        return f"http://{self.login}@{self.address}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def do_GET(self) -> None:
        if not self._is_let_in():
            return
        parts = urlsplit(self.path)
        host = parts.netloc.rpartition("@")[2]
        there = http.client.HTTPConnection(self.proxy.names.get(host, host), timeout=20)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
        there.request(self.command, parts._replace(scheme="", netloc="").geturl(), headers=headers)
        answer = there.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(body)
        there.close()

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def do_CONNECT(self) -> None:
        if not self._is_let_in():
            return
        host, _, port = self.path.rpartition(":")
        self.close_connection = True
        with socket.create_connection((host, int(port)), timeout=20) as there, suppress(OSError):
            self.send_response(200)
            self.end_headers()
            ends = {self.connection: there, there: self.connection}
            while True:
                for item in select.select(list(ends), [], [], 20)[0]:
                    data = item.recv(1 << 16)
                    if not data:
                        return
                    ends[item].sendall(data)

    def _is_let_in(self) -> bool:
        expected = f"Basic {base64.b64encode(self.proxy.login.encode()).decode()}"
        if self.proxy.login and self.headers.get("Proxy-Authorization") != expected:
            self.proxy.refused += 1
            self.send_response(407)
            self.send_header("Proxy-Authenticate", 'Basic realm="the way out"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return False
        self.proxy.passed.append(f"{self.command} {self.path}")
        return True

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@contextmanager
def serve_proxy(login: str) -> Iterator[Proxy]:
    """Run the proxy until the block ends."""
    proxy = Proxy(login)
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        proxy.address = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield proxy
        server.shutdown()
        thread.join()
