"""What can stop a request, in a few words."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import requests
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from gpuenv.http.connections import EndlessError, GarbledHeadersError
from gpuenv.i18n.messages import tr
from gpuenv.untrusted.bounds import shortened

_NAMED_BY = "GPUENV_HTTP_TIMEOUT"
_LONGEST_S = 86400.0
MISSING = (404, 410)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one page may cost: seconds, bytes, redirects. `whole_s` bounds it all, name look-up included."""

    connect_s: float = 3.0
    read_s: float = 10.0
    whole_s: float = 20.0
    page_bytes: int = 64 << 20
    redirects: int = 5
    file_bytes: int = 16 << 30  # of any answer


def limits_of(environ: Mapping[str, str]) -> FetchLimits:
    """Return the limits, with GPUENV_HTTP_TIMEOUT (seconds without a byte) where it is a positive number."""
    try:
        read_s = float(environ.get(_NAMED_BY, ""))
    except ValueError:
        return FetchLimits()
    return replace(FetchLimits(), read_s=read_s) if 0 < read_s <= _LONGEST_S else FetchLimits()


class HttpProblem(Exception):  # noqa: N818 - not an error of ours: what the far side did
    """Why an address could not be read: `reason` reads after the address; `status` where it answered."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status

    @property
    def missing(self) -> bool:
        """Whether the server answered that there is no such page."""
        return self.status in MISSING


class NotCachedError(OSError):
    """An offline request for a page that is not in the cache."""


class StrayRedirectError(ValueError):
    """A redirect to where no index is."""


def timed_out(seconds: float) -> str:
    """Say that a time limit ran out."""
    return tr("timed out after {seconds} s", seconds=f"{seconds:g}")


def reason_of(error: BaseException, limits: FetchLimits) -> str:
    """Say in a few words what stopped a request."""
    causes = tuple(_causes(error))
    kinds: tuple[tuple[type[BaseException], str], ...] = (
        (EndlessError, tr("sent an answer without end")),
        (GarbledHeadersError, tr("sent headers that can't be read")),
        (StrayRedirectError, tr("redirects to what is not the address of an index")),
        (NotCachedError, tr("is not in the cache")),
        (requests.TooManyRedirects, tr("redirected too often")),
        (requests.ConnectTimeout, timed_out(limits.connect_s)),
        (requests.Timeout, timed_out(limits.read_s)),
        (ReadTimeoutError, timed_out(limits.read_s)),
        (socket.gaierror, tr("could not resolve host")),
        (requests.exceptions.ProxyError, tr("could not be reached through the proxy")),
        (requests.exceptions.InvalidProxyURL, tr("could not be reached: the proxy's address can't be read")),
        (ConnectionRefusedError, tr("refused the connection")),
        (ssl.SSLCertVerificationError, tr("has a certificate that is not trusted")),
        (requests.exceptions.SSLError, tr("broke the connection: TLS failed")),
        (requests.exceptions.ContentDecodingError, tr("sent a page that could not be decompressed")),
        (http.client.RemoteDisconnected, tr("broke the connection")),
        (http.client.BadStatusLine, tr("does not answer in HTTP")),
        (http.client.LineTooLong, tr("sent an answer without end")),
        (requests.ConnectionError, tr("broke the connection")),
        (requests.exceptions.ChunkedEncodingError, tr("broke the connection")),
        (ProtocolError, tr("broke the connection")),
        (ValueError, tr("is no address that can be read")),
    )
    if any(
        isinstance(cause, requests.exceptions.InvalidSchema) and "SOCKS" in str(cause) for cause in causes
    ):
        return tr("could not be reached: gpuenv needs PySocks for a SOCKS proxy (`pip install pysocks`)")
    for kind, reason in kinds:
        if any(isinstance(cause, kind) for cause in causes):
            return reason
    return shortened(str(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and those it wraps; urllib3 hands them on as `reason` and as arguments."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]
