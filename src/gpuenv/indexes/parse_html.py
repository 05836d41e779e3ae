"""Pages of links: PEP 503 project pages, directory listings, `torch_stable.html`.

<h1>Links for torch</h1>
<a href="/whl/cu126/torch-2.7.1%2Bcu126-cp312-cp312-win_amd64.whl#sha256=72b7…"
   data-requires-python="&gt;=3.9" data-yanked="">torch-2.7.1+cu126-cp312-cp312-win_amd64.whl</a><br/>
<a href="torch-2.5.1&#43;cu118-cp311-cp311-linux_x86_64.whl">torch-2.5.1+cu118-cp311-cp311-li..&gt;</a>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from urllib.parse import urljoin, urlsplit

from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import Link, LinkPage, check_links, leads_inside, parse_sha256, split_url

# html.parser needs quadratic time for pages full of unclosed tags; these bounds keep it linear.
_START = re.compile(r"<!--|<(?:a|base|meta|h1|title)(?=[\s/>])", re.IGNORECASE)
_REST_OF_TAG = re.compile(r"""(?:[^"'<>]|"[^"]*"|'[^']*')*>""")
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?""")
_LONGEST_TAG = 8192
_MOST_BROKEN_TAGS = 1000

_HEADING = re.compile(
    r"<(?:h1|title)[^>]{0,200}>\s*(?:links for|index of|directory listing|simple)\b", re.IGNORECASE
)
_FILE = re.compile(
    r"\.(?:whl|zip|egg|exe|msi|rpm|deb|asc|sig|metadata|tar(?:\.\w+)?|tgz|bz2)$", re.IGNORECASE
)
_SCHEMES = ("http://", "https://", "file://")


class _Tags:
    """Collects the links of one page from its complete tags."""

    def __init__(self, url: str) -> None:
        self.page = self.base = url
        self.based = False
        self.links: list[Link] = []
        self.garbled: list[str] = []
        self.versioned = False

    def take(self, name: str, rest: str) -> None:
        """Add a tag: its name, and the rest up to the closing bracket."""
        match name:
            case "a":
                self._add(parse_attributes(rest))
            case "base" if not self.based:
                if href := parse_attributes(rest).get("href", "").strip():
                    self.base, self.based = urljoin(self.base, href), True
            case "meta":
                kind = parse_attributes(rest).get("name", "").lower()
                self.versioned = self.versioned or kind == "pypi:repository-version"

    def _add(self, facts: dict[str, str]) -> None:
        href = facts.get("href", "").strip()
        try:
            url, fragment, filename = split_url(_join(self.base, href))
        except ValueError:
            self.garbled.append(href)
            return
        if not url.lower().startswith(_SCHEMES) or not _FILE.search(filename) or leads_inside(url, self.page):
            return
        algorithm, _, digest = fragment.partition("=")
        self.links.append(
            Link(
                url=url,
                filename=filename,
                sha256=parse_sha256(digest) if algorithm == "sha256" else None,
                requires_python=facts.get("data-requires-python", "").strip() or None,
                yanked="data-yanked" in facts,
                has_metadata=_has_metadata(facts),
            )
        )


def _has_metadata(facts: dict[str, str]) -> bool:
    """Whether the METADATA lies beside a file; the attribute was called otherwise before PEP 714."""
    value = facts.get("data-core-metadata", facts.get("data-dist-info-metadata", "false"))
    return value.lower() != "false"


def parse_attributes(text: str) -> dict[str, str]:
    """Parse the attributes of one tag; of two with one name the first counts.

    href="/whl/torch-2.7.1%2Bcu126-cp312-cp312-win_amd64.whl" data-requires-python="&gt;=3.9" data-yanked
    """
    fields: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        fields.setdefault(name.lower(), unescape(double or single or bare))
    return fields


def _join(base: str, href: str) -> str:
    """Join as urljoin does, without parsing for the two usual forms."""
    if href.startswith(_SCHEMES):
        return href
    if href.startswith("/") and not href.startswith("//") and "/." not in href:
        return _origin(base) + href
    return urljoin(base, href)


@cache
def _origin(base: str) -> str:
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}"


def parse_html(text: str, url: str) -> LinkPage:
    """Read the links to files of a page at `url`; ValueError for a page full of unclosed tags.

    https://peps.python.org/pep-0503/, https://packaging.python.org/en/latest/specifications/simple-repository-api/
    """
    tags = _Tags(url)
    for name, rest in _tags_of(text):
        tags.take(name, rest)
        check_links(len(tags.links) + len(tags.garbled))
    is_index = bool(tags.links) or tags.versioned or _HEADING.search(text) is not None
    return LinkPage(tuple(tags.links), is_index, tuple(tags.garbled))


def _tags_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the relevant tags outside of comments: name, and rest of the tag."""
    at, broken, comments_end = 0, 0, True
    while match := _START.search(text, at):
        at = match.end()
        if match[0] == "<!--":
            end = text.find("-->", at) if comments_end else -1
            comments_end = end >= 0
            at = end if comments_end else at
            continue
        rest = _REST_OF_TAG.match(text, at, at + _LONGEST_TAG)
        if rest:
            at = rest.end()
            yield match[0][1:].lower(), rest[0][:-1]
            continue
        broken += 1
        if broken > _MOST_BROKEN_TAGS:
            raise ValueError(tr("the page is full of unclosed tags"))
