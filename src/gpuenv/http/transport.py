"""HTTP requests; imported with the first one, as most commands make none."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from gpuenv import __version__
from gpuenv.http.cache import CachingAdapter, DiskCache, discard, retries
from gpuenv.http.connections import BoundedAdapter, Bounds
from gpuenv.http.errors import FetchLimits, HttpPage, HttpProblem, timed_out
from gpuenv.http.reasons import open_response
from gpuenv.http.sessions import Session
from gpuenv.i18n.messages import tr
from gpuenv.model.access import Access
from gpuenv.secrets.url_credentials import without_userinfo
from gpuenv.untrusted.bounds import shortened

_CHUNK = 1 << 16
_AROUND_PAGE = 1 << 20  # bytes of headers and of what cuts a page into chunks


class Transport:
    """Connections and the cache of pages; thread-safe. `offline` and `fresh` as in HttpClient."""

    def __init__(
        self,
        cache: Path,
        access: Access,
        limits: FetchLimits,
        *,
        ca_bundle: str | bool,
        offline: bool,
        fresh: bool,
    ) -> None:
        self.limits = limits
        self._access = access
        self._ca_bundle = ca_bundle
        self._offline = offline
        self._fresh = fresh
        self._store = DiskCache(cache)
        self._idle: deque[requests.Session] = deque()

    def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop().close()

    def forget(self, url: str) -> None:
        """Drop a page from the cache."""
        self._store.drop(url)

    def page(self, url: str, accept: str) -> HttpPage:
        """Read one page; raise HttpProblem for anything but 200."""
        with self.request("GET", url, {"Accept": accept}) as response:
            body = _read(response, self.limits)
        if response.status_code != requests.codes.ok:
            raise HttpProblem(_describe_status(response, url), response.status_code)
        content_type = response.headers.get("Content-Type", "")
        return HttpPage(response.url or url, _decode(body, content_type), content_type, response.status_code)

    def size(self, url: str) -> int | None:
        """Request a file's size in bytes; None where it is unknown."""
        with self.request("HEAD", url, {"Accept-Encoding": "identity"}) as response:
            length = response.headers.get("Content-Length", "")
        if response.status_code != requests.codes.ok or not length.isdecimal():
            return None
        return int(length)

    @contextmanager
    def request(self, method: str, url: str, headers: dict[str, str]) -> Iterator[requests.Response]:
        """Send one request; whatever stops it, then or while the response is read, is an HttpProblem."""
        session = self._borrow()
        try:
            with open_response(session, method, url, headers, self.limits) as response:
                try:
                    yield response
                finally:
                    discard(response)
        except BaseException:
            session.close()
            raise
        self._idle.append(session)

    def _borrow(self) -> requests.Session:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        if self._fresh:
            return self.open_uncached()
        bounds = Bounds(self.limits.whole_s, self.limits.whole_s, self.limits.page_bytes + _AROUND_PAGE)
        return self._new(lambda: CachingAdapter(self._store, bounds, offline=self._offline))

    def open_uncached(self) -> requests.Session:
        """Open a session without a cache, for parts of large files."""
        bounds = Bounds(self.limits.whole_s, whole_bytes=self.limits.file_bytes)
        return self._new(lambda: BoundedAdapter(bounds=bounds, max_retries=retries()))

    def _new(self, make_adapter: Callable[[], HTTPAdapter]) -> requests.Session:
        session = Session(self._access, make_adapter)
        session.headers["User-Agent"] = f"gpuenv/{__version__}"
        session.max_redirects = self.limits.redirects
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session.verify = self._ca_bundle
        return session


def _describe_status(response: requests.Response, url: str) -> str:
    """Say which status a server sent, and which server after redirects to another."""
    if response.status_code == requests.codes.proxy_authentication_required:
        return tr("could not be reached through the proxy: it wants another user name and password")
    location = _host(response.url or url)
    if location == _host(url):
        return tr("answered {status}", status=response.status_code)
    return tr("redirects to {host}, which answered {status}", host=location, status=response.status_code)


def _host(url: str) -> str:
    """Return a URL's host, without user and password."""
    return shortened(urlsplit(without_userinfo(url)).netloc)


def _read(response: requests.Response, limits: FetchLimits) -> bytes:
    ends = time.monotonic() + limits.whole_s
    body = bytearray()
    for chunk in response.iter_content(_CHUNK):
        body += chunk
        if len(body) > limits.page_bytes:
            raise HttpProblem(tr("is larger than {size} MB", size=limits.page_bytes >> 20))
        if time.monotonic() > ends:
            raise HttpProblem(timed_out(limits.whole_s))
    return bytes(body)


def _decode(body: bytes, content_type: str) -> str:
    """Decode a page, without guessing: but for UTF-16, links to wheels are ASCII in every encoding."""
    match = re.search(r"charset=[\"']?(utf-?16)", content_type, re.IGNORECASE)
    wide = match is not None or body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return body.decode("utf-16" if wide else "utf-8", errors="replace").removeprefix("\ufeff")
