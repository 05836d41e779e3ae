"""Redirects: followed to indexes, whatever stands in the answer that names them."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from urllib.parse import urljoin, urlsplit

import requests

from gpuenv.http.cache import discard
from gpuenv.http.errors import StrayRedirectError

_SHORT = 8 << 10  # bytes of a body that may be read to keep the connection
_SCHEMES = ("http", "https")


class BoundedSession(requests.Session):
    """A session that reads no body of a redirect, however long it is; requests would, whole."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Return where a redirect leads; raise StrayRedirectError for what is no address of an index."""
        target: str | None = super().get_redirect_target(resp)
        if target is not None:
            _leave_body(resp)
            _check(resp.url, target)
        return target


def _leave_body(response: requests.Response) -> None:
    """Read what has come of a short body, which leaves the connection free; close it with any other."""
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and len(length) < len(str(_SHORT)) and response.raw is not None:
        read = getattr(response.raw, "read1", response.raw.read)
        read(_SHORT, decode_content=False)
    discard(response)


def _check(begin: str, target: str) -> None:
    """Refuse `file:`, and the addresses at which clouds hand out a machine's credentials."""
    parts = urlsplit(urljoin(begin, target))
    if parts.scheme not in _SCHEMES or (
        _is_link_local(parts.hostname or "") and not _is_link_local(urlsplit(begin).hostname or "")
    ):
        raise StrayRedirectError


def _is_link_local(host: str) -> bool:
    """Whether a host is a link-local address, in any notation that a resolver takes (`0xa9fea9fe`)."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.partition("%")[0]).is_link_local
    with suppress(OSError, ValueError):
        return ipaddress.ip_address(socket.inet_aton(host)).is_link_local
    return False
