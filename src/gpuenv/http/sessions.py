"""Sessions that follow the user's configuration of servers, and only redirects to indexes."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.utils import should_bypass_proxies
from urllib3 import disable_warnings
from urllib3.exceptions import InsecureRequestWarning

from gpuenv.http.errors import StrayRedirectError
from gpuenv.model.access import Access, with_scheme

_SHORT = 8 << 10  # bytes of a body that may be read to keep the connection


class Session(requests.Session):
    """A session with the user's certificates, proxies and passwords."""

    def __init__(self, access: Access, make_adapter: Callable[[], HTTPAdapter]) -> None:
        super().__init__()
        self._access = access
        for scheme in ("https://", "http://"):
            self.mount(scheme, make_adapter())
        if access.system_certs:
            _trust_system(self.adapters["https://"])
        self._unverified = make_adapter()
        if access.insecure_hosts:
            disable_warnings(InsecureRequestWarning)
            _verify_nothing(self._unverified)

    def get_adapter(self, url: str) -> HTTPAdapter:
        """Return the adapter for a URL: servers are unverified by host, so a redirect is verified again."""
        parts = urlsplit(url)
        if parts.scheme == "https" and self._access.is_insecure(parts.hostname or "", parts.port):
            return self._unverified
        adapter = super().get_adapter(url)
        assert isinstance(adapter, HTTPAdapter)  # noqa: S101 - it was mounted here
        return adapter

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """Prefer the configured proxies to those of the variables, but honour NO_PROXY."""
        settings = super().merge_environment_settings(url, proxies, stream, verify, cert)
        named = {**settings["proxies"], **dict(self._access.proxies)}
        exceptions = (None, self._access.no_proxy)  # None: NO_PROXY
        if any(should_bypass_proxies(str(url), no_proxy=item) for item in dict.fromkeys(exceptions)):
            named = {}
        settings["proxies"] = {scheme: with_scheme(proxy) for scheme, proxy in named.items() if proxy}
        return settings

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Return where a redirect leads; raise StrayRedirectError for what is not the URL of an index."""
        target: str | None = super().get_redirect_target(resp)
        if target is not None:
            _leave_body(resp)
            _check_redirect(resp.url, target)
        return target

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send a request, and again with a password if the server requires one that is known."""
        response = super().send(request, **options)
        logins = self._access.logins
        if response.status_code != requests.codes.unauthorized or logins is None or request.url is None:
            return response
        user = urlsplit(request.url).username  # https://ada@host/simple
        login = logins.find(request.url, unquote(str(user)) if user else None)
        if login is None:
            return response
        response.close()
        again = request.copy()
        again.prepare_auth(HTTPBasicAuth(*(word.encode() for word in login)))
        return super().send(again, **options)


def _leave_body(response: requests.Response) -> None:
    """Read a short body, which frees the connection; close any other, which requests would read whole."""
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and len(length) < len(str(_SHORT)) and response.raw is not None:
        read = getattr(response.raw, "read1", response.raw.read)
        read(_SHORT, decode_content=False)
    response.close()


def _check_redirect(source: str, target: str) -> None:
    """Refuse `file:`, and the link-local addresses at which clouds hand out a machine's credentials."""
    parts = urlsplit(urljoin(source, target))
    strays = _is_link_local(parts.hostname or "") and not _is_link_local(urlsplit(source).hostname or "")
    if parts.scheme not in ("http", "https") or strays:
        raise StrayRedirectError


def _is_link_local(host: str) -> bool:
    """Whether a host is a link-local address, in any notation that a resolver accepts (`0xa9fea9fe`)."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.partition("%")[0]).is_link_local
    with suppress(OSError, ValueError):
        return ipaddress.ip_address(socket.inet_aton(host)).is_link_local
    return False


def _trust_system(adapter: requests.adapters.BaseAdapter) -> None:
    """Trust the system's certificates beside the bundled ones."""
    context = ssl.create_default_context()
    assert isinstance(adapter, HTTPAdapter)  # noqa: S101 - it was mounted here
    adapter.init_poolmanager(adapter._pool_connections, adapter._pool_maxsize, ssl_context=context)  # type: ignore[attr-defined]  # noqa: SLF001


def _verify_nothing(adapter: HTTPAdapter) -> None:
    send = adapter.send

    def send_unverified(*request: Any, **options: Any) -> requests.Response:
        return send(*request, **{**options, "verify": False})

    adapter.send = send_unverified  # type: ignore[method-assign]
