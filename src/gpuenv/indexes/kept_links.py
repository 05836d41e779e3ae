"""The links of a page of an index: read from its text, and kept so that its text need not be read again."""

from __future__ import annotations

import json
from operator import attrgetter

from msgspec import Struct

from gpuenv.http import HttpPage
from gpuenv.indexes.link import Link, LinkPage
from gpuenv.indexes.parse_html import parse_html
from gpuenv.indexes.parse_json import parse_json

_JSON = ("application/vnd.pypi.simple.", "application/json")


class IndexPage(Struct, frozen=True):
    """The links of the page at `url`, the address after redirects."""

    url: str
    links: LinkPage


class LinksForm:
    """Pages of links, in HTML or JSON; only those of an index are kept."""

    name = "links 1"  # another number with each change of `Link`, or of what is read of a page

    def read(self, page: HttpPage) -> IndexPage:
        """Return the links of a page; raise ValueError."""
        kind = page.content_type.strip().lower()
        parse = parse_json if kind.startswith(_JSON) else parse_html
        return IndexPage(page.url, parse(page.text, page.url))

    def pack(self, value: IndexPage) -> bytes | None:
        """Return the links as JSON."""
        if not value.links.is_index:
            return None
        return json.dumps([list(map(_fields, value.links.links)), value.links.garbled]).encode()

    def unpack(self, content: bytes, url: str) -> IndexPage:
        """Return the links that were packed."""
        rows, garbled = json.loads(content)
        return IndexPage(url, LinkPage(tuple(Link(*row) for row in rows), True, tuple(garbled)))  # noqa: FBT003


_fields = attrgetter(*Link.__struct_fields__)

LINKS = LinksForm()
