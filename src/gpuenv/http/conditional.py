"""Requests for pages of which an older state is known, and how often a request is made again."""

from __future__ import annotations

from typing import Any

import requests
from urllib3.exceptions import ReadTimeoutError
from urllib3.util import Retry

from gpuenv.http.connections import BoundedAdapter, Bounds
from gpuenv.http.page_store import KnownPages
from gpuenv.http.sessions import Session
from gpuenv.model.access import Access

_CONDITIONS = ("If-None-Match", "If-Modified-Since")


class ConditionalSession(Session):
    """Requests a `known` page only if it has changed since, each on the way of redirects for itself."""

    def __init__(self, access: Access, bounds: Bounds) -> None:
        self.known: KnownPages | None = None
        super().__init__(access, lambda: _ConditionalAdapter(self, bounds=bounds, max_retries=retries()))


class _ConditionalAdapter(BoundedAdapter):
    def __init__(self, session: ConditionalSession, **options: Any) -> None:
        super().__init__(**options)
        self._session = session

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        for name in _CONDITIONS:  # of the page that led here
            request.headers.pop(name, None)
        known = self._session.known
        page = known.at(request.url or "") if known else None
        if page is not None:
            request.headers.update(page.validators.headers)
        return super().send(request, *args, **options)


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
