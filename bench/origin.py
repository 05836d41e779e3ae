"""A server of the files of a folder, over TLS and in ranges, as mirrors serve them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from certificates import Authority

_PIECE = 1 << 18


@contextmanager
def serve_folder(folder: Path, authority: Authority, asked: list[str]) -> Iterator[int]:
    """Serve a folder's files on a port of 127.0.0.1 until the block ends; `asked` gets the requests."""
    server = _Server(folder, authority, asked)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, authority: Authority, asked: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.asked = folder, asked
        self._tls = authority.context()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands in the connection's own thread."""
        super().finish_request(self._tls.wrap_socket(request, server_side=True), client_address)

    def handle_error(self, *_: object) -> None:
        """Let clients go when they are done."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path} {self.headers.get('Range', '')}")
        path = self.server.folder / Path(self.path).name
        size = path.stat().st_size
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first = int(wanted[1]) if wanted else 0
        last = min(int(wanted[2]), size - 1) if wanted and wanted[2] else size - 1
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        for name, value in {"ETag": f'"{size:x}"', "Accept-Ranges": "bytes"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        if self.command == "GET":
            self._send(path, first, last + 1)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def _send(self, path: Path, first: int, end: int) -> None:
        with path.open("rb") as file:
            file.seek(first)
            while first < end:
                piece = file.read(min(_PIECE, end - first))
                first += len(piece)
                self.wfile.write(piece)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""
