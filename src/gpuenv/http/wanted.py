"""A page that is wanted in a form: as it is kept on disk, or from its server and then kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.http.errors import MISSING, HttpPage, HttpProblem, describe_status
from gpuenv.http.forms import TEXT, PageForm
from gpuenv.http.freshness import fresh_for, kept_headers
from gpuenv.http.page_store import KeptPage, KnownPages, PageStore
from gpuenv.secrets.url_credentials import has_userinfo

if TYPE_CHECKING:
    from gpuenv.http.transport import PageAnswer, Transport

T = TypeVar("T")


class WantedPage(Struct, Generic[T], frozen=True):
    """A page; `public` if it may be kept though it asks not to be, `store` is None where nothing is kept."""

    url: str
    accept: str
    form: PageForm[T]
    store: PageStore | None
    public: bool = False

    def find(self, url: str) -> KeptPage | None:
        """Return what is kept of the page, or of one on the way of its redirects."""
        return self.store.find(url, self.accept, self._kept_form(url)) if self.store else None

    def read_kept(self, kept: KeptPage) -> T:
        """Return a kept page in its form; raise HttpProblem for one that was missing."""
        if kept.status in MISSING:
            raise HttpProblem(describe_status(kept.status, self.url, kept.url), kept.status)
        if self._kept_form(kept.url) == self.form.name:
            return self.form.unpack(kept.content, kept.url)
        return self.form.read(TEXT.unpack(kept.content, kept.url))

    def fetch(self, transport: Transport, kept: KeptPage | None) -> T:
        """Return the page from its server, and keep it; raise HttpProblem or ValueError."""
        began = time.time()
        answer = transport.page(self.url, self.accept, KnownPages(kept, self.find))
        if answer.unchanged is not None:
            self._renew(answer.unchanged, answer, began)
            return self.read_kept(answer.unchanged)
        if answer.status in MISSING:
            self._keep(answer, began, b"")
            raise HttpProblem(describe_status(answer.status, self.url, answer.url), answer.status)
        value = self.form.read(answer.page)
        packed = self._pack(answer.page, value)
        if packed is not None:  # else what is kept of the page stays: this is a captive portal's
            self._keep(answer, began, packed)
        return value

    def _renew(self, kept: KeptPage, answer: PageAnswer, began: float) -> None:
        """Keep what a 304 says of a page, where that makes a difference to the next request."""
        headers = kept_headers(answer.headers, kept.headers)
        fresh_s = fresh_for(headers, kept.status, now=began, public=self.public)
        if fresh_s is None:
            self._drop(answer.url)
        elif fresh_s or kept.fresh_s or headers.get("etag") != kept.headers.get("etag"):
            self._store(answer.url, replace(kept, headers=headers, read_at=began, fresh_s=fresh_s))

    def _keep(self, answer: PageAnswer, began: float, content: bytes) -> None:
        headers = kept_headers(answer.headers)
        fresh_s = fresh_for(headers, answer.status, now=began, public=self.public)
        if fresh_s is None:
            self._drop(answer.url)
        else:
            page = KeptPage(answer.page.url, answer.status, headers, began, fresh_s, content)
            self._store(answer.url, page)

    def _store(self, url: str, page: KeptPage) -> None:
        if self.store:
            self.store.keep(url, self.accept, self._kept_form(url), page)

    def _drop(self, url: str) -> None:
        if self.store:
            self.store.drop(url, self.accept, self._kept_form(url))

    def _pack(self, page: HttpPage, value: T) -> bytes | None:
        packed = self.form.pack(value)
        return packed if packed is None or self._kept_form(page.url) == self.form.name else TEXT.pack(page)

    def _kept_form(self, url: str) -> str:
        """Return the name of the form in which a page is kept: links relative to a secret hold the secret."""
        return TEXT.name if has_userinfo(url) else self.form.name
