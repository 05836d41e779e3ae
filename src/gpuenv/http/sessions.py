"""Sessions of requests that heed what the user's configuration says of servers."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.utils import should_bypass_proxies
from urllib3 import disable_warnings
from urllib3.exceptions import InsecureRequestWarning

from gpuenv.http.cache import discard
from gpuenv.http.redirects import BoundedSession
from gpuenv.model.access import Access, with_scheme

SCHEMES = ("https://", "http://")


class Session(BoundedSession):
    """A session that trusts whom the user trusts, and asks for a password where a server wants one."""

    def __init__(self, access: Access, make_adapter: Callable[[], HTTPAdapter]) -> None:
        super().__init__()
        self._access = access
        for scheme in SCHEMES:
            self.mount(scheme, make_adapter())
        if access.system_certs:
            _trust_system(self.adapters["https://"])
        self._unverified = make_adapter()
        if access.insecure_hosts:
            disable_warnings(InsecureRequestWarning)
            _verify_nothing(self._unverified)

    def get_adapter(self, url: str) -> HTTPAdapter:
        """Return what sends a request; a redirect leaves a server that is taken unverified."""
        parts = urlsplit(url)
        if parts.scheme == "https" and self._access.is_insecure(parts.hostname or "", parts.port):
            return self._unverified
        adapter = super().get_adapter(url)
        assert isinstance(adapter, HTTPAdapter)  # noqa: S101 - it was mounted here
        return adapter

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """Let what the configuration says of proxies go before the variables, but not before NO_PROXY."""
        settings = super().merge_environment_settings(url, proxies, stream, verify, cert)
        named = {**settings["proxies"], **dict(self._access.proxies)}
        if named and self._is_direct(str(url)):
            named = {}
        settings["proxies"] = {scheme: with_scheme(proxy) for scheme, proxy in named.items() if proxy}
        return settings

    def _is_direct(self, url: str) -> bool:
        lists = (None, self._access.no_proxy)  # None: the variable
        return any(should_bypass_proxies(url, no_proxy=item) for item in dict.fromkeys(lists))

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send a request, and again with a password where it needs one that is known."""
        response = super().send(request, **options)
        logins = self._access.logins
        if response.status_code != requests.codes.unauthorized or logins is None or request.url is None:
            return response
        login = logins.find(request.url, _user_in(request))
        if login is None:
            return response
        discard(response)
        again = request.copy()
        again.prepare_auth(HTTPBasicAuth(*(word.encode() for word in login)))
        return super().send(again, **options)


def _user_in(request: requests.PreparedRequest) -> str | None:
    """Return the user whom an address names, `https://ada@host/simple`."""
    user = urlsplit(request.url or "").username
    return unquote(str(user)) if user else None


def _trust_system(adapter: requests.adapters.BaseAdapter) -> None:
    """Trust what the system trusts beside the usual authorities."""
    context = ssl.create_default_context()
    assert isinstance(adapter, HTTPAdapter)  # noqa: S101 - it was mounted here
    adapter.init_poolmanager(adapter._pool_connections, adapter._pool_maxsize, ssl_context=context)  # type: ignore[attr-defined]  # noqa: SLF001


def _verify_nothing(adapter: HTTPAdapter) -> None:
    send = adapter.send

    def send_unverified(*request: Any, **options: Any) -> requests.Response:
        return send(*request, **{**options, "verify": False})

    adapter.send = send_unverified  # type: ignore[method-assign]
