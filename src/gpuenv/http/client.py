"""Pages and sizes over HTTP: within a time budget, side by side."""

from __future__ import annotations

import concurrent.futures
import os
import stat
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from gpuenv.http.errors import FetchLimits, HttpPage, HttpProblem, limits_of, timed_out
from gpuenv.http.size_cache import SizeStore
from gpuenv.model.access import ANYBODY, Access
from gpuenv.process.surroundings import cache_root
from gpuenv.secrets.url_credentials import without_userinfo

if TYPE_CHECKING:
    import requests
    from typing_extensions import Self

    from gpuenv.http.transport import Transport

T = TypeVar("T")

_LARGEST_NETRC = 1 << 20  # bytes
_SIZES_AT_A_TIME = 16


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
        self._sizes = SizeStore(self.cache / "sizes.json")
        self._opened: Transport | None = None
        self._opening = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close idle connections."""
        if self._opened is not None:
            self._opened.close()

    @property
    def _transport(self) -> Transport:
        from gpuenv.http.transport import Transport  # noqa: PLC0415 - requests is a fifth of a plan's time

        with self._opening:
            if self._opened is None:
                self._opened = Transport(
                    self.cache / "http",
                    self._access,
                    self.limits,
                    ca_bundle=self._ca_bundle,
                    offline=self.offline,
                    fresh=self._fresh,
                )
            return self._opened

    def begin_page(self, url: str, accept: str) -> Pending[HttpPage]:
        """Start to read a page; `result()` returns it or raises HttpProblem."""
        return Pending(lambda: self._transport.page(url, accept), self.limits.whole_s)

    def begin_size(self, url: str, turn: threading.Semaphore | None = None) -> Pending[int | None]:
        """Start to ask for a file's size in bytes; `result()` is None where the server does not tell it."""
        return Pending(lambda: self._size(url, turn), self.limits.whole_s)

    def forget(self, url: str) -> None:
        """Drop a page from the cache: it answered, but not with what was asked for."""
        self._transport.forget(url)

    def open_uncached(self) -> requests.Session:
        """Open a session of the same manners that keeps nothing: for parts of large files."""
        return self._transport.open_uncached()

    def _size(self, url: str, turn: threading.Semaphore | None) -> int | None:
        key = without_userinfo(url.partition("#")[0])
        known = self._sizes.get(key)
        if known is not None or self.offline:
            return known
        with turn or nullcontext():
            size = self._transport.size(url)
        if size is not None:
            self._sizes.add(key, size)
        return size


def _pass_over_endless_logins() -> None:
    """Name an empty netrc to this process and its children where the user's has no end."""
    if os.environ.get("NETRC"):
        return
    for name in (".netrc", "_netrc"):
        try:
            status = Path("~", name).expanduser().stat()
        except (OSError, RuntimeError):
            continue
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_NETRC:
            os.environ["NETRC"] = os.devnull


def fetch_page(client: HttpClient, url: str, accept: str) -> HttpPage:
    """Read one page; raise HttpProblem for anything but 200."""
    return client.begin_page(url, accept).result()


def fetch_size(client: HttpClient, url: str) -> int | None:
    """Ask for a file's size in bytes, once for ever; None where the server does not tell it."""
    return fetch_sizes(client, (url,))[0]


def fetch_sizes(client: HttpClient, urls: tuple[str, ...]) -> tuple[int | None, ...]:
    """Ask for the sizes of many files side by side; a size that is not told is None, never an error."""
    turn = threading.Semaphore(_SIZES_AT_A_TIME)
    pendings = [client.begin_size(url, turn) for url in urls]
    return tuple(_size_or_none(pending) for pending in pendings)


def _size_or_none(pending: Pending[int | None]) -> int | None:
    try:
        return pending.result()
    except HttpProblem:
        return None


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return where pages and sizes are kept: GPUENV_CACHE_DIR, else the platform's cache directory."""
    return cache_root(environ)
