"""Send requests, and say in a few words what stopped one."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
from urllib3.exceptions import HTTPError, ProtocolError, ReadTimeoutError

from gpuenv.http.connections import EndlessError, GarbledHeadersError
from gpuenv.http.errors import FetchLimits, HttpProblem, StrayRedirectError, timed_out
from gpuenv.i18n.messages import tr
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.tracing.steps import step
from gpuenv.untrusted.bounds import shortened


@contextmanager
def open_response(
    session: requests.Session, method: str, url: str, headers: dict[str, str], limits: FetchLimits
) -> Iterator[requests.Response]:
    """Send a request; whatever stops it, then or while the response is read, is an HttpProblem."""
    timeout = (limits.connect_s, limits.read_s)
    try:
        with session.request(method, url, headers=headers, timeout=timeout, stream=True) as response:
            step(lambda: redact_credentials(f"{method} {url}: {response.status_code}"))
            yield response
    except (OSError, HTTPError, ValueError) as error:
        reason = reason_of(error, limits)
        step(lambda: redact_credentials(f"{method} {url}: {reason}"))
        raise HttpProblem(reason) from error


def reason_of(error: BaseException, limits: FetchLimits) -> str:
    """Say in a few words what stopped a request."""
    causes = tuple(_causes(error))
    kinds: tuple[tuple[type[BaseException], str], ...] = (
        (EndlessError, tr("sent an answer without end")),
        (GarbledHeadersError, tr("sent headers that cannot be read")),
        (StrayRedirectError, tr("redirects to what is not the address of an index")),
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
    if any(isinstance(item, requests.exceptions.InvalidSchema) and "SOCKS" in str(item) for item in causes):
        return tr("could not be reached: gpuenv needs PySocks for a SOCKS proxy (`pip install pysocks`)")
    for kind, reason in kinds:
        if any(isinstance(cause, kind) for cause in causes):
            return reason
    return shortened(str(error))


def is_lasting(problem: HttpProblem) -> bool:
    """Whether the same request will fail again, as it was not the connection that failed."""
    cause = problem.__cause__
    untrusted = cause is not None and any(
        isinstance(item, ssl.SSLCertVerificationError) for item in _causes(cause)
    )
    return untrusted or isinstance(cause, (requests.TooManyRedirects, ValueError))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and those it wraps; urllib3 keeps them in `reason` and in the arguments."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]
