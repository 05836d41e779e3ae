"""Connections whose responses end, whatever the server sends.

http.client and urllib3 read interim responses (`100 Continue`), headers and trailers without a bound. Here
these are bounded in size and time, and the body is where `Bounds` says so.
"""

from __future__ import annotations

import http.client
import io
import ssl
import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.poolmanager import ProxyManager
from urllib3.util.wait import wait_for_read

from gpuenv.http.authorities import trusting

if TYPE_CHECKING:
    from typing_extensions import Buffer

_LINES_BYTES = 256 << 10  # of status, headers, sizes of chunks
_LENGTHS = 100  # letters; some servers send the length twice
_LINES_EACH = 16  # more of them for each byte of the body: some servers send chunks of one byte


class Bounds(Struct, frozen=True):
    """Bounds of a response: seconds for its headers after the first byte; seconds and bytes of all of it."""

    lines_s: float
    whole_s: float | None = None
    whole_bytes: int | None = None


class EndlessError(http.client.HTTPException):
    """The headers or the body of a response do not end."""


class GarbledHeadersError(http.client.HTTPException):
    """The headers of a response contradict each other."""


class BoundedAdapter(HTTPAdapter):
    """A mixin for adapters whose responses end."""

    def __init__(self, *args: Any, bounds: Bounds, **options: Any) -> None:
        self._pools = _pool_classes(bounds)
        super().__init__(*args, **options)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pools of bounded connections."""
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, *args: Any, **options: Any) -> Any:
        """Bound connections through an HTTP proxy too, but not those of SOCKS."""
        manager = super().proxy_manager_for(*args, **options)
        if type(manager) is ProxyManager:
            manager.pool_classes_by_scheme = self._pools
        return manager


def _pool_classes(bounds: Bounds) -> dict[str, type[HTTPConnectionPool]]:
    class Answer(http.client.HTTPResponse):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.fp = _Reader(_Wire(self.fp.detach(), bounds))

        def begin(self) -> None:
            super().begin()
            lengths = ",".join(self.headers.get_all("Content-Length", ()))
            if len(lengths) > _LENGTHS or len({length.strip() for length in lengths.split(",")}) > 1:
                raise GarbledHeadersError

    class Plain(HTTPConnection):
        response_class = Answer

    class Secure(_SecureConnection):
        response_class = Answer

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class _SecureConnection(HTTPSConnection):
    """A connection that shares its context, and the authorities in it, with others that trust the same."""

    def connect(self) -> None:
        """Connect; urllib3 would read the bundle for each connection, and a proxy with TLS has it do so."""
        plain_proxy = self.proxy is None or self.proxy.scheme == "http"
        named = self.ca_certs or self.ca_cert_dir
        required = self.cert_reqs in ("CERT_REQUIRED", ssl.CERT_REQUIRED)
        if self.ssl_context is None and named and required and plain_proxy and not self.cert_file:
            self.ssl_context = trusting(self.ca_certs, self.ca_cert_dir)
            self.ca_certs = self.ca_cert_dir = None
        super().connect()


class _Wire(io.RawIOBase):
    """The bytes from the socket, whose own timeout bounds each read."""

    def __init__(self, raw: io.RawIOBase, bounds: Bounds) -> None:
        self._raw, self._bounds = raw, bounds
        self._problem: Exception | None = None
        self._received = 0
        self._ends = None if bounds.whole_s is None else time.monotonic() + bounds.whole_s
        self._line_ends: float | None = None
        self.in_lines = True

    def readinto(self, buffer: Buffer) -> int | None:
        """Receive some bytes; raise TimeoutError or EndlessError beyond the bounds."""
        if self._problem is not None:
            raise self._problem
        count = self._receive(buffer)
        return self._gather(memoryview(buffer), count) if count and not self.in_lines else count

    def _gather(self, view: memoryview, count: int) -> int:
        """Add what has come meanwhile: TLS gives 16 kB at a time, each of which has a long way from here."""
        while count < len(view) and wait_for_read(self._raw, 0):  # type: ignore[arg-type]
            try:
                more = self._receive(view[count:])
            except Exception as error:  # noqa: BLE001 - raised with the next call, as there are bytes now
                self._problem = error
                break
            if not more:
                break
            count += more
        return count

    def _receive(self, buffer: Buffer) -> int | None:
        now = time.monotonic()
        if self._ends is not None and now > self._ends:
            raise TimeoutError
        if self._line_ends is not None and now > self._line_ends:
            raise TimeoutError
        count = self._raw.readinto(buffer)
        if self.in_lines and self._line_ends is None:
            self._line_ends = time.monotonic() + self._bounds.lines_s
        self._received += count or 0
        if self._bounds.whole_bytes is not None and self._received > self._bounds.whole_bytes:
            raise EndlessError
        return count

    def start_body(self) -> None:
        """Count the next bytes as the body's, which has its own time limit."""
        self.in_lines, self._line_ends = False, None

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._raw.fileno()

    def close(self) -> None:
        """Close the socket."""
        if not self.closed:
            self._raw.close()
        super().close()


class _Reader(io.BufferedReader):
    """The bytes of a response; http.client and urllib3 read all but the body by lines."""

    def __init__(self, wire: _Wire) -> None:
        super().__init__(wire)
        self._wire = wire
        self._of_lines = self._of_body = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line; raise EndlessError where there are too many of them."""
        self._wire.in_lines = True
        line = super().readline(_LINES_BYTES if size is None or size < 0 else size)
        self._of_lines += len(line)
        if self._of_lines > _LINES_BYTES + _LINES_EACH * self._of_body:
            raise EndlessError
        return line

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a part of the body."""
        self._wire.start_body()
        return self._counted(super().read(size))

    def read1(self, size: int = -1, /) -> bytes:
        """Read what has arrived of the body."""
        self._wire.start_body()
        return self._counted(super().read1(size))

    def readinto(self, buffer: Buffer, /) -> int:
        """Read a part of the body."""
        self._wire.start_body()
        count = super().readinto(buffer)
        self._of_body += count
        return count

    def _counted(self, part: bytes) -> bytes:
        self._of_body += len(part)
        return part
