"""A link to a file, as a page of an index has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from gpuenv.i18n.messages import tr

_MOST_LINKS = 100_000  # torch has some 10,000 files on one page
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Link:
    """One link; `filename` is decoded, `url` absolute, as the page spells it and without its fragment."""

    url: str
    filename: str
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    yanked: bool = False


@dataclass(frozen=True, slots=True)
class LinkPage:
    """The links to files on a page, in its order.

    `is_index` tells an index (perhaps an empty one) from any other page; `garbled` are entries that could
    not be read.
    """

    links: tuple[Link, ...]
    is_index: bool
    garbled: tuple[str, ...] = ()


def check_links(count: int) -> None:
    """Raise ValueError for a page of more files than any project has."""
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


def leads_inside(url: str, page: str) -> bool:
    """Tell whether a page from the network names a file of this machine or of a share: none may."""
    return url.lower().startswith("file:") and not page.lower().startswith("file:")


def file_name(url: str) -> str:
    """Return the decoded name of the file that a URL names, empty for a folder; ValueError for a bad URL."""
    return unquote(urlsplit(url).path.rpartition("/")[2])
