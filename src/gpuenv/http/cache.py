"""The cache of pages: CacheControl, tolerant of broken disks, wrong clocks and missing headers."""

from __future__ import annotations

import time
from contextlib import nullcontext, suppress
from email.utils import formatdate
from hashlib import sha256
from pathlib import Path
from typing import Any

import requests
from cachecontrol import CacheControlAdapter
from cachecontrol.caches import FileCache
from cachecontrol.controller import CacheController
from cachecontrol.heuristics import BaseHeuristic
from urllib3 import HTTPResponse
from urllib3.exceptions import ReadTimeoutError
from urllib3.util import Retry

from gpuenv.http.connections import BoundedAdapter, Bounds
from gpuenv.http.errors import MISSING, NotCachedError

_CACHED_STATUSES = (200, 203, *MISSING)  # no redirects: a captive portal's would be followed for ever
_KEEP_UNDATED_S = 600
_KEEP_MISSING_S = 120
_DIGEST_BYTES = sha256().digest_size


class CachingAdapter(BoundedAdapter, CacheControlAdapter):
    """Answers from the cache, or asks and caches the response; offline, from the cache alone."""

    def __init__(self, store: DiskCache, bounds: Bounds, *, offline: bool) -> None:
        super().__init__(store, bounds=bounds, heuristic=_Freshness(), max_retries=retries())
        self.controller = CacheController(store, status_codes=_CACHED_STATUSES)
        self._offline = offline

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        """Answer one request; raise NotCachedError offline for a page that was never read."""
        if not self._offline:
            return super().send(request, *args, **options)
        kept = self.cache.get(self.controller.cache_url(request.url or ""))
        cached = self.controller.serializer.loads(request, kept) if kept else None
        if cached is None:
            raise NotCachedError
        return self.build_response(request, cached, from_cache=True)


def retries() -> Retry:
    """Return how often a request is made again."""
    return _Retry(
        total=2, connect=1, read=1, status=2, backoff_factor=0.2, status_forcelist=(500, 502, 503, 504),
        raise_on_status=False, respect_retry_after_header=False,
    )  # fmt: skip


class _Retry(Retry):
    """Retries transient failures, but not a server that has stalled."""

    def increment(self, *args: Any, **facts: Any) -> Retry:  # type: ignore[override]
        """Count one failure, or raise it; its body is not read, which urllib3 does to keep the connection."""
        if facts.get("response") is not None:
            facts["response"].close()
        if isinstance(facts.get("error"), ReadTimeoutError):
            raise facts["error"]
        return super().increment(*args, **facts)


class _Freshness(BaseHeuristic):
    """Revalidates responses with `ETag` or `Last-Modified`, and keeps those without headers for minutes."""

    def apply(self, response: HTTPResponse) -> HTTPResponse:
        """Rewrite the headers that CacheControl reads."""
        headers = response.headers
        headers["Date"] = formatdate(time.time(), usegmt=True)  # clocks of servers are wrong, or missing
        expires = headers.pop("Expires", None)  # CacheControl raises on garbled ones
        control = headers.get("Cache-Control", "").lower()
        if "no-store" in control and ("ETag" in headers or "Last-Modified" in headers):
            # the PyTorch index says so of all its pages; kept for revalidation only, they cost a 304, and are
            # there for `--offline`
            control = headers["Cache-Control"] = "no-cache"
        if response.status == requests.codes.not_modified or "ETag" in headers or "no-store" in control:
            return response
        if "Last-Modified" in headers:
            if "max-age" not in control:
                headers["Cache-Control"] = "max-age=1"  # only what has an age is kept: one that is over
                headers["Date"] = formatdate(time.time() - 2, usegmt=True)
        elif not control and expires is None:
            kept_s = _KEEP_MISSING_S if response.status in MISSING else _KEEP_UNDATED_S
            headers["Cache-Control"] = f"max-age={kept_s}"
        return response


class DiskCache(FileCache):
    """A cache of pages, also stale ones, that never fails a request; each entry carries its digest."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, forever=True, lock_class=nullcontext)  # type: ignore[arg-type]

    def get(self, key: str) -> bytes | None:
        """Return an intact entry, else None."""
        try:
            entry = super().get(key) or b""
        except OSError:
            return None
        value = entry[_DIGEST_BYTES:]
        return value if sha256(value).digest() == entry[:_DIGEST_BYTES] else None

    def set(self, key: str, value: bytes, expires: Any = None) -> None:
        """Store an entry, if the disk allows it."""
        with suppress(OSError):
            super().set(key, sha256(value).digest() + value, expires)

    def drop(self, url: str) -> None:
        """Remove a page, which `delete` does not do with `forever`."""
        with suppress(OSError):
            Path(self._fn(CacheController.cache_url(url))).unlink(missing_ok=True)


def discard(response: requests.Response) -> None:
    """Close a response, and the file in which CacheControl collects its body."""
    response.close()
    collected = getattr(response.raw._fp, "_CallbackFileWrapper__buf", None)  # noqa: SLF001
    if collected is not None:
        collected.close()
