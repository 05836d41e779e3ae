"""Links to files on the pages of indexes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote, urldefrag, urlsplit

from msgspec import Struct

from gpuenv.i18n.messages import tr

_MOST_LINKS = 100_000  # torch has some 10,000 files on one page
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DAY = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T", re.ASCII)
# absolute, without dot segments, a query or what is not ASCII: what urllib.parse leaves as it is
_PLAIN_URL = re.compile(r"(https?://[\w.-]+(?::\d+)?(?:/[\w%+~!-][\w.%+~!-]*)+)(?:#([\w=.-]*))?", re.ASCII)


class Link(Struct, frozen=True):
    """One link; `filename` is decoded, `url` absolute, spelled as on the page, without its fragment.

    `uploaded` is the day (ISO 8601), `has_metadata` that its METADATA lies beside it (PEP 658).
    """

    url: str
    filename: str
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    yanked: bool = False
    uploaded: str | None = None
    has_metadata: bool = False


class LinkPage(Struct, frozen=True):
    """The links of a page; `is_index` is false for another kind of page, `garbled` are unreadable links."""

    links: tuple[Link, ...]
    is_index: bool
    garbled: tuple[str, ...] = ()


def check_links(count: int) -> None:
    """Raise ValueError for a page with too many links."""
    if count > _MOST_LINKS:
        raise ValueError(tr("the page has more than {most} links", most=_MOST_LINKS))


def parse_sha256(text: str) -> str | None:
    """Return a SHA-256 digest in lower case, None for anything else."""
    digest = text.strip().lower()
    return digest if _SHA256.fullmatch(digest) else None


def parse_hashes(hashes: object) -> str | None:
    """Return the SHA-256 digest of a mapping such as `{"sha256": "…", "md5": "…"}`."""
    digest = hashes.get("sha256") if isinstance(hashes, Mapping) else None
    return parse_sha256(digest) if isinstance(digest, str) else None


def parse_day(text: object) -> str | None:
    """Return the day of a time of upload (`2025-08-09T12:00:00.000000Z`, PEP 700), None for anything else."""
    return text[:10] if isinstance(text, str) and _DAY.match(text) else None


def leads_inside(url: str, page: str) -> bool:
    """Tell whether a page from the network links to a local file, which none may."""
    return url.lower().startswith("file:") and not page.lower().startswith("file:")


def plain_address(url: str) -> str | None:
    """Return an absolute address of the usual form without its fragment, None for any other."""
    plain = _PLAIN_URL.fullmatch(url)
    return plain[1] if plain else None


def split_url(url: str) -> tuple[str, str, str]:
    """Return a URL without its fragment, the fragment, and the decoded file name; raise ValueError.

    The name is empty for a folder. The usual form is not parsed: a page has thousands of it.
    """
    if plain := _PLAIN_URL.fullmatch(url):
        address, name = plain[1], plain[1].rpartition("/")[2]
        return address, plain[2] or "", unquote(name) if "%" in name else name
    address, fragment = urldefrag(url)
    return address, fragment, unquote(urlsplit(address).path.rpartition("/")[2])
