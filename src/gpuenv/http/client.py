"""Pages and sizes over HTTP: within a time budget, side by side."""

from __future__ import annotations

import concurrent.futures
import os
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from gpuenv import __version__
from gpuenv.http.cache import CachingAdapter, DiskCache, discard, retries
from gpuenv.http.connections import BoundedAdapter, Bounds
from gpuenv.http.errors import FetchLimits, HttpProblem, limits_of, reason_of, timed_out
from gpuenv.http.sessions import Session
from gpuenv.http.size_cache import SizeStore
from gpuenv.i18n.messages import tr
from gpuenv.model.access import ANYBODY, Access
from gpuenv.process.surroundings import cache_root
from gpuenv.secrets.url_credentials import without_userinfo
from gpuenv.untrusted.bounds import shortened

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

_CHUNK = 1 << 16
_AROUND_PAGE = 1 << 20  # bytes of headers and of what cuts a page into chunks
_LARGEST_NETRC = 1 << 20  # bytes
_SIZES_AT_A_TIME = 16


@dataclass(frozen=True, slots=True)
class HttpPage:
    """What an address answered; `url` is the final one, after redirects."""

    url: str
    text: str
    content_type: str
    status: int


class Pending(Generic[T]):
    """Work that goes on beside the caller's, for at most so many seconds.

    A thread of its own, because no timeout of a socket bounds a name look-up or a server that trickles its
    headers; a daemon, because what hangs there must not keep the program from ending.
    """

    def __init__(self, work: Callable[[], T], limit_s: float) -> None:
        self._answer: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._limit_s = limit_s
        self._ends = time.monotonic() + limit_s
        threading.Thread(target=self._settle, args=(work,), daemon=True).start()

    def _settle(self, work: Callable[[], T]) -> None:
        try:
            self._answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._answer.set_exception(error)

    def result(self) -> T:
        """Wait for the answer; raise HttpProblem when the time is up."""
        try:
            return self._answer.result(timeout=max(0.0, self._ends - time.monotonic()))
        except concurrent.futures.TimeoutError:
            raise HttpProblem(timed_out(self._limit_s)) from None


class HttpClient:
    """Keeps connections, the cache on disk and the limits; safe to use from several threads."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        access: Access = ANYBODY,
        limits: FetchLimits | None = None,
        offline: bool = False,
        fresh: bool = False,
    ) -> None:
        """Take the cache's place from GPUENV_CACHE_DIR; proxies and CA bundles come from the environment.

        Without `limits`, GPUENV_HTTP_TIMEOUT says for how many seconds a server may be silent.
        The bundle of `access` is what pip's configuration names; REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE go
        before it, SSL_CERT_FILE and SSL_CERT_DIR after it. With `offline`, pages come from the cache alone,
        however old; with `fresh`, never from there, nor are they kept.
        """
        _pass_over_endless_logins()
        self.limits = limits or limits_of(environ)
        self.offline = offline
        self._fresh = fresh
        self._access = access
        of_environ = environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR")
        self._ca_bundle = access.ca_bundle or of_environ or True
        self.cache = cache_directory(environ)
        self._store = DiskCache(self.cache / "http")
        self._sizes = SizeStore(self.cache / "sizes.json")
        self._idle: deque[requests.Session] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop().close()

    def begin_page(self, url: str, accept: str) -> Pending[HttpPage]:
        """Start to read a page; `result()` returns it or raises HttpProblem."""
        return Pending(lambda: self._page(url, accept), self.limits.whole_s)

    def begin_size(self, url: str, turn: threading.Semaphore | None = None) -> Pending[int | None]:
        """Start to ask for a file's size in bytes; `result()` is None where the server does not tell it."""
        return Pending(lambda: self._size(url, turn), self.limits.whole_s)

    def forget(self, url: str) -> None:
        """Drop a page from the cache: it answered, but not with what was asked for."""
        self._store.drop(url)

    def _page(self, url: str, accept: str) -> HttpPage:
        with self._asked("GET", url, {"Accept": accept}) as response:
            body = _read(response, self.limits)
        if response.status_code != requests.codes.ok:
            raise HttpProblem(_refused(response, url), response.status_code)
        content_type = response.headers.get("Content-Type", "")
        return HttpPage(response.url or url, _decode(body, content_type), content_type, response.status_code)

    def _size(self, url: str, turn: threading.Semaphore | None) -> int | None:
        key = without_userinfo(url.partition("#")[0])
        known = self._sizes.get(key)
        if known is not None or self.offline:
            return known
        headers = {"Accept-Encoding": "identity"}
        with turn or nullcontext(), self._asked("HEAD", url, headers) as response:
            length = response.headers.get("Content-Length", "")
        if response.status_code != requests.codes.ok or not length.isdecimal():
            return None
        self._sizes.add(key, int(length))
        return int(length)

    @contextmanager
    def _asked(self, method: str, url: str, headers: dict[str, str]) -> Iterator[requests.Response]:
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
        return self._new(lambda: CachingAdapter(self._store, bounds, offline=self.offline))

    def _new(self, make_adapter: Callable[[], HTTPAdapter]) -> requests.Session:
        session = Session(self._access, make_adapter)
        session.headers["User-Agent"] = f"gpuenv/{__version__}"
        session.max_redirects = self.limits.redirects
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session.verify = self._ca_bundle
        return session


def _pass_over_endless_logins() -> None:
    """Name an empty netrc to this process and its children where the user's has no end."""
    if os.environ.get("NETRC"):
        return
    for name in (".netrc", "_netrc"):
        try:
            told = Path("~", name).expanduser().stat()
        except (OSError, RuntimeError):
            continue
        if not stat.S_ISREG(told.st_mode) or told.st_size > _LARGEST_NETRC:
            os.environ["NETRC"] = os.devnull


def _refused(response: requests.Response, url: str) -> str:
    """Say what a server answered, and which one where redirects lead to another."""
    if response.status_code == requests.codes.proxy_authentication_required:
        return tr("could not be reached through the proxy: it wants another user name and password")
    place = _host(response.url or url)
    if place == _host(url):
        return tr("answered {status}", status=response.status_code)
    return tr("leads to {host}, which answered {status}", host=place, status=response.status_code)


def _host(url: str) -> str:
    """Return an address's host, without user and password."""
    return shortened(urlsplit(without_userinfo(url)).netloc)


def fetch_page(client: HttpClient, url: str, accept: str) -> HttpPage:
    """Read one page; raise HttpProblem for anything but 200."""
    return client.begin_page(url, accept).result()


def fetch_size(client: HttpClient, url: str) -> int | None:
    """Ask for a file's size in bytes, once for ever; None where the server does not tell it."""
    return fetch_sizes(client, (url,))[0]


def fetch_sizes(client: HttpClient, urls: tuple[str, ...]) -> tuple[int | None, ...]:
    """Ask for the sizes of many files side by side; a size that is not told is None, never an error."""
    turn = threading.Semaphore(_SIZES_AT_A_TIME)
    asked = [client.begin_size(url, turn) for url in urls]
    return tuple(_size_or_none(pending) for pending in asked)


def _size_or_none(pending: Pending[int | None]) -> int | None:
    try:
        return pending.result()
    except HttpProblem:
        return None


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return where pages and sizes are kept: GPUENV_CACHE_DIR, else the platform's cache directory."""
    return cache_root(environ)


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
    told = re.search(r"charset=[\"']?(utf-?16)", content_type, re.IGNORECASE)
    wide = told is not None or body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return body.decode("utf-16" if wide else "utf-8", errors="replace").removeprefix("\ufeff")
