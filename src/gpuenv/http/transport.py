"""Requests of HTTP: imported when the first one is made, which most commands never do."""

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
from urllib3.exceptions import HTTPError

from gpuenv import __version__
from gpuenv.http.cache import CachingAdapter, DiskCache, discard, retries
from gpuenv.http.connections import BoundedAdapter, Bounds
from gpuenv.http.errors import FetchLimits, HttpPage, HttpProblem, timed_out
from gpuenv.http.reasons import reason_of
from gpuenv.http.sessions import Session
from gpuenv.i18n.messages import tr
from gpuenv.model.access import Access
from gpuenv.secrets.url_credentials import without_userinfo
from gpuenv.untrusted.bounds import shortened

_CHUNK = 1 << 16
_AROUND_PAGE = 1 << 20  # bytes of headers and of what cuts a page into chunks


class Transport:
    """Keeps connections and the cache of pages; safe to use from several threads.

    With `offline`, answers come from the cache alone, however old; with `fresh`, never from there, nor are
    they kept.
    """

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
            raise HttpProblem(_refused(response, url), response.status_code)
        content_type = response.headers.get("Content-Type", "")
        return HttpPage(response.url or url, _decode(body, content_type), content_type, response.status_code)

    def size(self, url: str) -> int | None:
        """Ask for a file's size in bytes; None where the server does not tell it."""
        with self.request("HEAD", url, {"Accept-Encoding": "identity"}) as response:
            length = response.headers.get("Content-Length", "")
        if response.status_code != requests.codes.ok or not length.isdecimal():
            return None
        return int(length)

    @contextmanager
    def request(self, method: str, url: str, headers: dict[str, str]) -> Iterator[requests.Response]:
        """Send one request; whatever stops it, then or while the answer is read, is an HttpProblem."""
        session = self._borrow()
        kept = False
        timeout = (self.limits.connect_s, self.limits.read_s)
        response = None
        try:
            response = session.request(method, url, headers=headers, timeout=timeout, stream=True)
            yield response
        except (OSError, HTTPError, ValueError) as error:
            raise HttpProblem(reason_of(error, self.limits)) from error
        else:
            self._idle.append(session)
            kept = True
        finally:
            if response is not None:
                discard(response)
            if not kept:
                session.close()

    def _borrow(self) -> requests.Session:
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def open_uncached(self) -> requests.Session:
        """Open a session of the same manners that keeps nothing: for parts of large files."""
        bounds = Bounds(self.limits.whole_s, whole_bytes=self.limits.file_bytes)
        return self._new(lambda: BoundedAdapter(bounds=bounds, max_retries=retries()))

    def _open(self) -> requests.Session:
        if self._fresh:
            return self.open_uncached()
        whole_s, most = self.limits.whole_s, self.limits.page_bytes + _AROUND_PAGE
        bounds = Bounds(whole_s, whole_s, most)
        return self._new(lambda: CachingAdapter(self._store, bounds, offline=self._offline))

    def _new(self, make_adapter: Callable[[], HTTPAdapter]) -> requests.Session:
        session = Session(self._access, make_adapter)
        session.headers["User-Agent"] = f"gpuenv/{__version__}"
        session.max_redirects = self.limits.redirects
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session.verify = self._ca_bundle
        return session


def _refused(response: requests.Response, url: str) -> str:
    """Say what a server answered, and which one where redirects lead to another."""
    if response.status_code == requests.codes.proxy_authentication_required:
        return tr("could not be reached through the proxy: it wants another user name and password")
    location = _host(response.url or url)
    if location == _host(url):
        return tr("answered {status}", status=response.status_code)
    return tr("redirects to {host}, which answered {status}", host=location, status=response.status_code)


def _host(url: str) -> str:
    """Return an address's host, without user and password."""
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
