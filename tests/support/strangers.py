"""A stranger's server."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Stranger:
    """A server that somebody else runs; every request to it is one that must not have been made."""

    url: str
    requests: list[str] = field(default_factory=list)


@contextmanager
def serve_stranger() -> Iterator[Stranger]:
    """Run such a server until the block ends."""
    stranger = Stranger("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            stranger.requests.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815 - http.server's name

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stranger.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield stranger
        server.shutdown()
        thread.join()


@contextmanager
def serve_elsewhere(url: str, tls: ssl.SSLContext) -> Iterator[str]:
    """Run a server over https that leads everybody to another address; yield its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
