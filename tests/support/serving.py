"""A real HTTP server on 127.0.0.1 that answers as it is told and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Behaviour = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """Routes by path; `asked` lists (method, path) and `seen` the headers of each request."""

    def __init__(self) -> None:
        self.routes: dict[str, Behaviour] = {}
        self.asked: list[tuple[str, str]] = []
        self.seen: list[dict[str, str]] = []
        self.url = ""
        self.closing = threading.Event()

    def page(self, path: str, body: bytes | str = b"", status: int = 200, **headers: str) -> None:
        """Answer `path` with a page; keyword `Last_Modified` is the header `Last-Modified`.

        A request that names the page's ETag or Last-Modified is answered 304.
        """
        content = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.routes[path] = lambda request: _send(
            request, status, {"Content-Type": "text/html", **named}, content
        )

    def at(self, path: str, behaviour: Behaviour) -> None:
        self.routes[path] = behaviour


def _send(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    unchanged = any(
        headers.get(validator) == request.headers.get(condition, "-")
        for validator, condition in (("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since"))
    )
    request.send_response(304 if unchanged else status)
    for name, value in headers.items():
        request.send_header(name, value)
    if not unchanged:
        request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    if not unchanged and request.command == "GET":
        request.wfile.write(body)


@contextmanager
def serve() -> Iterator[Site]:
    """Run a Site until the block ends."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append((self.command, self.path))
            site.seen.append({name.lower(): value for name, value in self.headers.items()})
            behaviour = site.routes.get(self.path) or (lambda request: _send(request, 404, {}, b""))
            try:
                behaviour(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_: object) -> None:
            """Clients that go away are part of the test."""

    server = Server(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
