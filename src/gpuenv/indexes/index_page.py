"""The pages of indexes: read from their text, and kept so that their text need not be read again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from packaging.utils import NormalizedName

from gpuenv.http import HttpPage
from gpuenv.indexes.link import Link
from gpuenv.indexes.parse_html import parse_html
from gpuenv.indexes.parse_json import parse_json
from gpuenv.indexes.wheel_files import is_named_for, parse_head, parse_tags, parse_wheel_link
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import WheelFile

_JSON = ("application/vnd.pypi.simple.", "application/json")


class IndexPage(Struct, frozen=True):
    """What the page at `url`, the address after redirects, lists; `is_index` as of `LinkPage`.

    `unparsed` are names that are not valid wheel names, `garbled` are unreadable links. `lists_files` tells
    whether there are links at all, sdists included.
    """

    url: str
    files: tuple[WheelFile, ...]
    is_index: bool
    lists_files: bool
    unparsed: tuple[str, ...] = ()
    garbled: tuple[str, ...] = ()

    def files_of(self, project: NormalizedName) -> tuple[WheelFile, ...]:
        """Return the wheels of a project."""
        return tuple(file for file in self.files if file.name == project)

    def unparsed_of(self, project: NormalizedName) -> tuple[str, ...]:
        """Return the invalid wheel names that begin with that of a project."""
        return tuple(name for name in self.unparsed if is_named_for(name, project))


class IndexPageForm:
    """Pages of links, in HTML or JSON; only those of an index are kept.

    Names and tags, which a page repeats dozens of times each, are kept and parsed once.
    """

    name = "index page 2"  # another number with each change of what is read of a page, or kept

    def read(self, page: HttpPage) -> IndexPage:
        """Return what a page lists; raise ValueError."""
        kind = page.content_type.strip().lower()
        links = (parse_json if kind.startswith(_JSON) else parse_html)(page.text, page.url)
        read = [_wheel(link, page.url) for link in links.links if link.filename.endswith(".whl")]
        return IndexPage(
            page.url,
            tuple(file for file in read if isinstance(file, WheelFile)),
            links.is_index,
            bool(links.links),
            tuple(name for name in read if isinstance(name, str)),
            links.garbled,
        )

    def pack(self, value: IndexPage) -> bytes | None:
        """Return a page as JSON."""
        if not value.is_index:
            return None
        heads, tags, places, words = _Table(), _Table(), _Table(), _Table()
        rows = [_packed(file, heads, tags, places, words) for file in value.files]
        rest = (value.lists_files, value.unparsed, value.garbled)
        return json.dumps([*map(list, (heads, tags, places, words)), rows, *rest]).encode()

    def unpack(self, content: bytes, url: str) -> IndexPage:
        """Return the page that was packed."""
        heads, tags, places, words, rows, lists_files, unparsed, garbled = _parsed(content)
        files = _unpacked(heads, tags, places, words, rows)
        return IndexPage(url, tuple(files), True, lists_files, tuple(unparsed), tuple(garbled))  # noqa: FBT003


INDEX_PAGE = IndexPageForm()


def _parsed(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:  # halves of letters, which pages can hold
        return json.loads(content)


def _wheel(link: Link, page: str) -> WheelFile | str:
    try:
        return parse_wheel_link(link, page)
    except ValueError:
        return link.filename


class _Table(dict[str, int]):
    """Numbers its keys in their order."""

    def __missing__(self, key: str) -> int:
        self[key] = len(self)
        return self[key]


def _packed(file: WheelFile, heads: _Table, tags: _Table, places: _Table, words: _Table) -> list[Any]:
    """Return a file as numbers in tables; its address whole where it does not end in its name."""
    head, *tag_parts = file.filename.removesuffix(".whl").rsplit("-", 3)
    folder, _, name = file.url.rpartition("/")
    return [
        heads[head],
        tags["-".join(tag_parts)],
        places[folder] if name == _quoted(file.filename) else file.url,
        None if file.variant is None else words[file.variant.name],
        file.sha256,
        file.size,
        None if file.requires_python is None else words[file.requires_python],
        file.yanked,
        None if file.uploaded is None else words[file.uploaded],
        file.has_metadata,
    ]


def _unpacked(
    heads: list[str], tags: list[str], places: list[str], words: list[str], rows: Iterable[list[Any]]
) -> Iterable[WheelFile]:
    read_heads = [parse_head(head) for head in heads]
    read_tags = [parse_tags(tag) for tag in tags]
    variants = [Variant(word) for word in words]
    for row in rows:
        head, tag, place, variant, sha256, size, requires_python, yanked, uploaded, has_metadata = row
        name, version, _, _ = read_heads[head]
        filename = f"{heads[head]}-{tags[tag]}.whl"
        yield WheelFile(
            name,
            version,
            read_tags[tag],
            filename,
            place if isinstance(place, str) else f"{places[place]}/{_quoted(filename)}",
            None if variant is None else variants[variant],
            sha256,
            size,
            None if requires_python is None else words[requires_python],
            yanked,
            uploaded=None if uploaded is None else words[uploaded],
            has_metadata=has_metadata,
        )


def _quoted(filename: str) -> str:
    return filename.replace("+", "%2B")
