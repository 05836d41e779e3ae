"""The forms in which pages are used, and kept on disk."""

from __future__ import annotations

import json
from typing import Protocol, TypeVar

from gpuenv.http.errors import HttpPage

T = TypeVar("T")


class PageForm(Protocol[T]):
    """A form of a page; `name` says which, its version included, for the files in which it is kept."""

    name: str

    def read(self, page: HttpPage) -> T:
        """Read a page; raise ValueError for what is none of this kind."""

    def pack(self, value: T) -> bytes | None:
        """Return what is kept on disk, None for what is not to be kept."""

    def unpack(self, content: bytes, url: str) -> T:
        """Return the value that was packed, of the page at `url`; raise ValueError."""


class TextForm:
    """A page as its server sent it."""

    name = "text 1"

    def read(self, page: HttpPage) -> HttpPage:
        """Return the page itself."""
        return page

    def pack(self, value: HttpPage) -> bytes | None:
        """Return its type and its text."""
        return json.dumps(value.content_type).encode() + b"\n" + value.text.encode("utf-8", "surrogatepass")

    def unpack(self, content: bytes, url: str) -> HttpPage:
        """Return the page; raise ValueError."""
        content_type, _, text = content.partition(b"\n")
        return HttpPage(url, text.decode("utf-8", "surrogatepass"), json.loads(content_type))


TEXT = TextForm()
