"""What stopped a request, in a few words: read from the exceptions of requests, urllib3 and below."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import requests
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from gpuenv.http.connections import EndlessError, GarbledHeadersError
from gpuenv.http.errors import FetchLimits, NotCachedError, StrayRedirectError, timed_out
from gpuenv.i18n.messages import tr
from gpuenv.untrusted.bounds import shortened


def reason_of(error: BaseException, limits: FetchLimits) -> str:
    """Say in a few words what stopped a request."""
    causes = tuple(_causes(error))
    kinds: tuple[tuple[type[BaseException], str], ...] = (
        (EndlessError, tr("sent an answer without end")),
        (GarbledHeadersError, tr("sent headers that cannot be read")),
        (StrayRedirectError, tr("redirects to what is not the address of an index")),
        (NotCachedError, tr("is not in the cache")),
        (requests.TooManyRedirects, tr("redirected too often")),
        (requests.ConnectTimeout, timed_out(limits.connect_s)),
        (requests.Timeout, timed_out(limits.read_s)),
        (ReadTimeoutError, timed_out(limits.read_s)),
        (socket.gaierror, tr("could not resolve host")),
        (requests.exceptions.ProxyError, tr("could not be reached through the proxy")),
        (
            requests.exceptions.InvalidProxyURL,
            tr("could not be reached: the address of the proxy cannot be read"),
        ),
        (ConnectionRefusedError, tr("refused the connection")),
        (ssl.SSLCertVerificationError, tr("has an untrusted certificate")),
        (requests.exceptions.SSLError, tr("closed the connection: TLS failed")),
        (requests.exceptions.ContentDecodingError, tr("sent a page that could not be decompressed")),
        (http.client.RemoteDisconnected, tr("broke the connection")),
        (http.client.BadStatusLine, tr("does not answer in HTTP")),
        (http.client.LineTooLong, tr("sent an answer without end")),
        (requests.ConnectionError, tr("broke the connection")),
        (requests.exceptions.ChunkedEncodingError, tr("broke the connection")),
        (ProtocolError, tr("broke the connection")),
        (ValueError, tr("is not a valid address")),
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
