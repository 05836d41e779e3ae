"""Pages and sizes over HTTP, concurrently and within a time limit."""

from __future__ import annotations

import concurrent.futures
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_limited_text
from gpuenv.http.errors import FetchLimits, HttpPage, HttpProblem, limits_of, timed_out
from gpuenv.model.access import ANYBODY, Access
from gpuenv.process.surroundings import cache_root
from gpuenv.secrets.url_credentials import without_userinfo
from gpuenv.untrusted.documents import load_json

if TYPE_CHECKING:
    import requests
    from typing_extensions import Self

    from gpuenv.http.transport import Transport

T = TypeVar("T")

_LARGEST_NETRC = 1 << 20  # bytes
_SIZES_AT_A_TIME = 16


class Pending(Generic[T]):
    """Work in a daemon thread, with a time limit that includes name look-ups and slow headers."""

    def __init__(self, work: Callable[[], T], limit_s: float) -> None:
        self._answer: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._limit_s = limit_s
        self._ends = time.monotonic() + limit_s
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def _run(self, work: Callable[[], T]) -> None:
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
    """Connections, the cache on disk and the limits; thread-safe."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        access: Access = ANYBODY,
        limits: FetchLimits | None = None,
        offline: bool = False,
        fresh: bool = False,
    ) -> None:
        """Configure by variables: GPUENV_CACHE_DIR, GPUENV_HTTP_TIMEOUT without `limits`, and proxies.

        CA bundles in order: REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, that of `access` (pip's configuration),
        SSL_CERT_FILE, SSL_CERT_DIR. `offline`: pages come only from the cache, however old; `fresh`: neither
        read nor written there.
        """
        _ignore_endless_netrc()
        self.limits = limits or limits_of(environ)
        self.offline = offline
        self._fresh = fresh
        self._access = access
        self._ca_bundle = (
            access.ca_bundle or environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR") or True
        )
        self.cache = cache_root(environ)
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
        """Start to request a file's size in bytes; `result()` is None where it is unknown."""
        return Pending(lambda: self._size(url, turn), self.limits.whole_s)

    def forget(self, url: str) -> None:
        """Drop a page from the cache: it is not what was requested."""
        self._transport.forget(url)

    def open_uncached(self) -> requests.Session:
        """Open a session without a cache, for parts of large files."""
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


class SizeStore:
    """Sizes in bytes of files that never change, by URL, in one JSON file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._sizes: dict[str, int] | None = None

    def get(self, url: str) -> int | None:
        """Return a known size."""
        with self._lock:
            if self._sizes is None:
                self._sizes = self._load()
            return self._sizes.get(url)

    def add(self, url: str, size: int) -> None:
        """Store a size beside those that other processes have written meanwhile."""
        with self._lock, suppress(OSError):
            self._sizes = {**self._load(), **(self._sizes or {}), url: size}
            replace_private(self._path, json.dumps(self._sizes))

    def _load(self) -> dict[str, int]:
        try:
            sizes = load_json(read_limited_text(self._path))
        except (OSError, ValueError):
            return {}
        entries = sizes.items() if isinstance(sizes, dict) else ()
        return {url: size for url, size in entries if type(size) is int}


def _ignore_endless_netrc() -> None:
    """Name an empty netrc to this process and its children where the user's is not a small file."""
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
    """Return a file's size in bytes, requested only once; None where it is unknown."""
    return fetch_sizes(client, (url,))[0]


def fetch_sizes(client: HttpClient, urls: tuple[str, ...]) -> tuple[int | None, ...]:
    """Return the sizes of many files, requested concurrently; None for each that is unknown."""
    turn = threading.Semaphore(_SIZES_AT_A_TIME)
    return tuple(map(_size_or_none, [client.begin_size(url, turn) for url in urls]))


def _size_or_none(pending: Pending[int | None]) -> int | None:
    try:
        return pending.result()
    except HttpProblem:
        return None
