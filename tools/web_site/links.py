"""Follow every link of the built site, to a file and an anchor in it; what is loaded, to no other host."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script", "img", "iframe", "link", "source", "video", "audio"}

_LOADED = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors = {""}
        self.links: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "link" and dict(attrs).get("rel") not in _LOADED:
            return  # it names an address and loads nothing
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            elif name in {"href", "src"} and value:
                self.links.append((tag, value))


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(site: Path) -> Iterator[str]:
    """Name each link that leads nowhere, and each thing loaded from another host, with its page."""
    site = site.resolve()
    for path in sorted(site.rglob("*.html")):
        for tag, link in _read(path).links:
            if why := _wrong(site, path, tag, link):
                yield f"{path.relative_to(site)}: {link} {why}"


def _wrong(site: Path, path: Path, tag: str, link: str) -> str | None:
    parts = urlsplit(link)
    if parts.scheme in {"data", "javascript", "mailto"}:
        return None
    if parts.scheme or parts.netloc:
        return "is loaded from another host" if tag in _LOADS and parts.netloc else None
    if parts.path.startswith("/"):
        return None if path.name == "404.html" else "is absolute"
    target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site) or not target.is_file():
        return "leads nowhere"
    hash_ = unquote(parts.fragment)
    if target.suffix == ".html" and hash_ and tag == "a" and hash_ not in _read(target).anchors:
        return "leads to no heading"
    return None
