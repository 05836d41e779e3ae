"""HTTP requests; imported with the first one, as most commands make none."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from typing import TypeVar

import requests
from msgspec import Struct

from gpuenv import __version__
from gpuenv.http.conditional import ConditionalSession, retries
from gpuenv.http.connections import BoundedAdapter, Bounds
from gpuenv.http.errors import MISSING, FetchLimits, HttpPage, HttpProblem, describe_status, timed_out
from gpuenv.http.page_store import KeptPage, KnownPages
from gpuenv.http.reasons import open_response
from gpuenv.http.sessions import Session
from gpuenv.i18n.messages import tr
from gpuenv.model.access import Access

_S = TypeVar("_S", bound=Session)

_CHUNK = 1 << 16
_AROUND_PAGE = 1 << 20  # bytes of headers and of what cuts a page into chunks


class PageAnswer(Struct, frozen=True):
    """An answer from `url`, the address after redirects: a page, or `unchanged`, what is known of it."""

    url: str
    page: HttpPage
    status: int
    headers: dict[str, str]
    unchanged: KeptPage | None = None


class Transport:
    """Connections; thread-safe."""

    def __init__(self, access: Access, limits: FetchLimits, *, ca_bundle: str | bool) -> None:
        self.limits = limits
        self._access = access
        self._ca_bundle = ca_bundle
        self._idle: deque[ConditionalSession] = deque()

    def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop().close()

    def page(self, url: str, accept: str, known: KnownPages) -> PageAnswer:
        """Read a page if it has changed; raise HttpProblem but for the statuses 200, 404 and 410."""
        with self.request("GET", url, {"Accept": accept}, known) as response:
            status, headers = response.status_code, dict(response.headers)
            final = response.url if response.history and response.url else url
            if status == requests.codes.not_modified and known.current is not None:
                return PageAnswer(final, HttpPage(final, "", ""), status, headers, known.current)
            body = _read(response, self.limits)
        if status not in (requests.codes.ok, *MISSING):
            raise HttpProblem(_describe_status(status, url, final), status)
        content_type = response.headers.get("Content-Type", "")
        page = HttpPage(response.url or url, _decode(body, content_type), content_type)
        return PageAnswer(final, page, status, headers)

    def size(self, url: str) -> int | None:
        """Request a file's size in bytes; None where it is unknown."""
        with self.request("HEAD", url, {"Accept-Encoding": "identity"}) as response:
            length = response.headers.get("Content-Length", "")
        if response.status_code != requests.codes.ok or not length.isdecimal():
            return None
        return int(length)

    @contextmanager
    def request(
        self, method: str, url: str, headers: dict[str, str], known: KnownPages | None = None
    ) -> Iterator[requests.Response]:
        """Send one request; whatever stops it, then or while the response is read, is an HttpProblem."""
        session = self._borrow()
        session.known = known
        try:
            with open_response(session, method, url, headers, self.limits) as response:
                yield response
        except BaseException:
            session.close()
            raise
        self._idle.append(session)

    def _borrow(self) -> ConditionalSession:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        bounds = Bounds(self.limits.whole_s, self.limits.whole_s, self.limits.page_bytes + _AROUND_PAGE)
        return self._configured(ConditionalSession(self._access, bounds))

    def open_uncached(self) -> requests.Session:
        """Open a session without a cache, for parts of large files."""
        bounds = Bounds(self.limits.whole_s, whole_bytes=self.limits.file_bytes)
        return self._configured(
            Session(self._access, lambda: BoundedAdapter(bounds=bounds, max_retries=retries()))
        )

    def _configured(self, session: _S) -> _S:
        session.headers["User-Agent"] = f"gpuenv/{__version__}"
        session.max_redirects = self.limits.redirects
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session.verify = self._ca_bundle
        return session


def _describe_status(status: int, url: str, final_url: str) -> str:
    if status == requests.codes.proxy_authentication_required:
        return tr("could not be reached through the proxy: it wants another user name and password")
    return describe_status(status, url, final_url)


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
