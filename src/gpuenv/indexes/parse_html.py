"""Pages of links: PEP 503 project pages, directory listings, `torch_stable.html`.

<h1>Links for torch</h1>
<a href="/whl/cu126/torch-2.7.1%2Bcu126-cp312-cp312-win_amd64.whl#sha256=72b7…"
   data-requires-python="&gt;=3.9" data-yanked="">torch-2.7.1+cu126-cp312-cp312-win_amd64.whl</a><br/>
<a href="torch-2.5.1&#43;cu118-cp311-cp311-linux_x86_64.whl">torch-2.5.1+cu118-cp311-cp311-li..&gt;</a>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

from gpuenv.indexes.link import Link, LinkPage, file_name, parse_sha256

# html.parser alone needs quadratic time for pages full of tags that never end; these bounds keep it linear.
_START = re.compile(r"<!--|<(?:a|base|meta|h1|title)(?=[\s/>])", re.IGNORECASE)
_REST_OF_TAG = re.compile(r"""(?:[^"'<>]|"[^"]*"|'[^']*')*>""")
_LONGEST_TAG = 8192
_MOST_BROKEN_TAGS = 1000

_HEADING = re.compile(
    r"<(?:h1|title)[^>]{0,200}>\s*(?:links for|index of|directory listing|simple)\b", re.IGNORECASE
)
_FILE = re.compile(
    r"\.(?:whl|zip|egg|exe|msi|rpm|deb|asc|sig|metadata|tar(?:\.\w+)?|tgz|bz2)$", re.IGNORECASE
)
_SCHEMES = ("http://", "https://", "file://")


class _Tags(HTMLParser):
    """Collects the links of one page, fed with whole tags."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.based = False
        self.links: list[Link] = []
        self.garbled: list[str] = []
        self.versioned = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in reversed(attrs)}  # the first of two counts
        if tag == "a":
            self._add(told)
        elif tag == "base" and told.get("href") and not self.based:
            self.base, self.based = urljoin(self.base, told["href"].strip()), True
        elif tag == "meta" and told.get("name", "").lower() == "pypi:repository-version":
            self.versioned = True

    def _add(self, told: dict[str, str]) -> None:
        try:
            url, fragment = urldefrag(urljoin(self.base, told.get("href", "").strip()))
            filename = file_name(url)
        except ValueError:
            self.garbled.append(told.get("href", ""))
            return
        if not url.lower().startswith(_SCHEMES) or not _FILE.search(filename):
            return
        algorithm, _, digest = fragment.partition("=")
        self.links.append(
            Link(
                url=url,
                filename=filename,
                sha256=parse_sha256(digest) if algorithm == "sha256" else None,
                requires_python=told.get("data-requires-python", "").strip() or None,
                yanked="data-yanked" in told,
            )
        )


def parse_html(text: str, url: str) -> LinkPage:
    """Read the links to files on a page that was found at `url`; ValueError for a page full of broken tags.

    https://peps.python.org/pep-0503/, https://packaging.python.org/en/latest/specifications/simple-repository-api/
    """
    tags = _Tags(url)
    tags.feed("".join(_tags_of(text)))
    is_index = bool(tags.links) or tags.versioned or _HEADING.search(text) is not None
    return LinkPage(tuple(tags.links), is_index, tuple(tags.garbled))


def _tags_of(text: str) -> Iterator[str]:
    """Yield the tags that matter, outside comments, each whole."""
    at, broken, comments_end = 0, 0, True
    while found := _START.search(text, at):
        at = found.end()
        if found[0] == "<!--":
            end = text.find("-->", at) if comments_end else -1
            comments_end = end >= 0
            at = end if comments_end else at
            continue
        rest = _REST_OF_TAG.match(text, at, at + _LONGEST_TAG)
        if rest:
            at = rest.end()
            yield found[0] + rest[0]
            continue
        broken += 1
        if broken > _MOST_BROKEN_TAGS:
            raise ValueError("the page is full of tags that do not end")
