"""A server that writes what it likes on its sockets: answers that no HTTP library would make."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Answer = Callable[[str], Iterable[bytes]]  # of the request's head: what is written, piece by piece
_SEND_S = 30.0


@dataclass
class RawServer:
    """`answer` is what every request gets; `paths` are those that were asked for."""

    answer: Answer = lambda _: ()
    paths: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    url: str = ""
    closing: threading.Event = field(default_factory=threading.Event)

    def attend(self, connection: socket.socket) -> None:
        """Answer one request, and close."""
        with connection, suppress(OSError):
            connection.settimeout(_SEND_S)
            head = b""
            while b"\r\n\r\n" not in head:
                read = connection.recv(1 << 16)
                if not read:
                    return
                head += read
            text = head.decode("latin-1")
            self.heads.append(text)
            self.paths.append(text.split(" ", 2)[1])
            for piece in self.answer(text):
                if self.closing.is_set():
                    return
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)


@contextmanager
def serve_raw(answer: Answer) -> Iterator[RawServer]:
    """Run a RawServer until the block ends."""
    server = RawServer(answer)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        server.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread = threading.Thread(target=_accept, args=(listening, server), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            with suppress(OSError):
                socket.create_connection(listening.getsockname(), timeout=1).close()
            thread.join()


def _accept(listening: socket.socket, server: RawServer) -> None:
    while not server.closing.is_set():
        connection, _ = listening.accept()
        threading.Thread(target=server.attend, args=(connection,), daemon=True).start()


def head(status: str = "200 OK", **headers: str) -> bytes:
    """Return the start of an answer; keyword `Content_Type` is the header `Content-Type`."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join((*lines, "", "")).encode("latin-1")


@dataclass(frozen=True)
class ForEver:
    """One piece again and again, until nobody reads any more."""

    piece: bytes
    pause_s: float = 0.0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield self.piece
            time.sleep(self.pause_s)


def chunk(content: bytes) -> bytes:
    """Return a chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)
