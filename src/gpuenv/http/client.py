"""Pages and sizes over HTTP, concurrently and within a time limit."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_limited_text
from gpuenv.http.allowance import Allowance
from gpuenv.http.errors import FetchLimits, HttpPage, HttpProblem, limits_of
from gpuenv.http.forms import TEXT, PageForm
from gpuenv.http.page_store import FOLDER, PageStore
from gpuenv.http.pending import Pending, Requested
from gpuenv.http.wanted import WantedPage
from gpuenv.i18n.messages import tr
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
        self._access = access
        self._ca_bundle = (
            access.ca_bundle or environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR") or True
        )
        self.cache = cache_root(environ)
        self.allowance = Allowance()
        self._sizes = SizeStore(self.cache / "sizes.json")
        self._pages = None if fresh else PageStore(self.cache / FOLDER)
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
                self._opened = Transport(self._access, self.limits, ca_bundle=self._ca_bundle)
            return self._opened

    def begin_page(self, url: str, accept: str) -> Pending[HttpPage]:
        """Start to read a page; `result()` returns it or raises HttpProblem."""
        return self.begin(url, accept, TEXT)

    def begin(self, url: str, accept: str, form: PageForm[T], *, public: bool = False) -> Pending[T]:
        """Start to read a page; `result()` returns it in its form, or raises HttpProblem or ValueError.

        Nobody is asked for a page that is kept and fresh. One that asks not to be stored is not kept, unless
        it is `public` and can be revalidated.
        """
        wanted = WantedPage(url, accept, form, self._pages, public)
        kept = wanted.find(url)
        if kept is not None and (self.offline or kept.is_fresh(time.time())):
            return Pending(lambda: wanted.read_kept(kept))
        if self.offline:
            return Pending(_not_cached)
        return Requested(lambda: wanted.fetch(self._transport, kept), self.limits.whole_s)

    def begin_size(self, url: str, turn: threading.Semaphore | None = None) -> Pending[int | None]:
        """Start to request a file's size in bytes; `result()` is None where it is unknown."""
        known = self._sizes.get(_size_key(url))
        if known is not None or self.offline:
            return Pending(lambda: known)
        return Requested(lambda: self._size(url, turn), self.limits.whole_s)

    def open_uncached(self) -> requests.Session:
        """Open a session without a cache, for parts of large files."""
        return self._transport.open_uncached()

    def _size(self, url: str, turn: threading.Semaphore | None) -> int | None:
        with turn or nullcontext():
            size = self._transport.size(url)
        if size is not None:
            self._sizes.add(_size_key(url), size)
        return size


def _size_key(url: str) -> str:
    return without_userinfo(url.partition("#")[0])


def _not_cached() -> NoReturn:
    raise HttpProblem(tr("is not in the cache"))


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
