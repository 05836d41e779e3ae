"""Replace the URLs of mirrors by the official ones, for files that are shared with others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.indexes.mirrors.lookup import mirror_at, mirror_of_url
from gpuenv.model.access import ANYBODY
from gpuenv.model.locked import LockedFile
from gpuenv.model.mirror import Mirror
from gpuenv.model.plan import Plan, PlannedPackage, Sources
from gpuenv.model.wheel import PLATFORMS
from gpuenv.secrets.url_credentials import without_userinfo

_OFFICIAL = "official"
_DEFAULTS = "defaults"
_SUBDIRS = (*PLATFORMS, "noarch")
_REMOTE = ("http://", "https://")
# PyPI's files lie by their BLAKE2b digest, and mirrors keep the path: /packages/5d/1f/…/numpy-2.1.0-….whl
_PYPI_FILE = re.compile(r"/(?:[\w-]+-)?packages/([0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}/[^/]+)$")


class Official(Struct, frozen=True):
    """The official PyTorch index, PyPI's simple index and the root of PyPI's files; None where unknown."""

    torch: str | None
    index: str | None
    files: str | None


def pypi_files_root(url: str) -> str | None:
    """Return the root of the files of PyPI, or of a copy, by the URL of one file; None for any other."""
    parts = urlsplit(url)
    match = _PYPI_FILE.search(parts.path)
    if match is None:
        return None
    root = parts.path[: match.start(1)].rstrip("/")
    return urlunsplit(parts._replace(path=root, query="", fragment=""))


def canonical_file(
    package: PlannedPackage, official: Official, mirrors: tuple[Mirror, ...]
) -> tuple[str, str | None] | None:
    """Return a file's official URL and index, without passwords; None where they are unknown."""
    url, index = package.url, package.index
    if url is None:
        return None
    location = _official_location(package, official) if _is_mirror(url, mirrors) else (url, index)
    if location is None:
        return None
    url, index = location
    if _is_mirror(index, mirrors):  # a mirror that links to the official files
        index = _official_index(package, official)
    return without_userinfo(url), without_userinfo(index) if index else None


def _official_location(package: PlannedPackage, official: Official) -> tuple[str, str | None] | None:
    match = _PYPI_FILE.search(urlsplit(package.url or "").path)
    local = package.version.partition("+")[2]
    if match and not local:
        return (f"{official.files}/{match[1]}", official.index) if official.files else None
    index = _official_index(package, official)
    if not local or index is None or package.filename is None:
        return None
    return f"{index}/{quote(package.filename)}", index


def _official_index(package: PlannedPackage, official: Official) -> str | None:
    local = package.version.partition("+")[2]
    if not local:
        return official.index
    return f"{official.torch}/{local}" if official.torch else None


def canonical_pages(sources: Sources, files: Iterable[LockedFile], torch: str | None) -> Sources:
    """Return sources with the page of each file on the PyTorch index (`torch`), without passwords."""
    own = tuple(_page(file, torch) for file in files)
    links = (location for location in (*own, *sources.find_links) if location)
    return replace(
        sources,
        index_url=without_userinfo(sources.index_url) if sources.index_url else None,
        extra_index_urls=tuple(map(without_userinfo, sources.extra_index_urls)),
        find_links=tuple(dict.fromkeys(map(without_userinfo, links))),
        access=ANYBODY,
    )


def _page(file: LockedFile, torch: str | None) -> str | None:
    index = file.index
    if index is None or not index.startswith(_REMOTE):
        return index
    on_torch = torch is not None and f"{index}/".startswith(f"{torch}/")
    return f"{index.rstrip('/')}/{file.name}/" if on_torch else None


def canonical_sources(plan: Plan, mirrors: tuple[Mirror, ...]) -> Sources:
    """Return the official sources of a plan; other indexes than known mirrors, such as a lab's, stay."""
    official = next(mirror for mirror in mirrors if mirror.kind == _OFFICIAL)
    sources = plan.sources
    links = _shared(sources.find_links, mirrors)
    pages = (_official_page(package, official, mirrors) for package in plan.packages)
    return replace(
        sources,
        index_url=None if _is_mirror(sources.index_url, mirrors) else sources.index_url,
        extra_index_urls=_shared(sources.extra_index_urls, mirrors),
        find_links=tuple(dict.fromkeys((*(page for page in pages if page), *links))),
    )


def channel_at(url: str, mirrors: tuple[Mirror, ...]) -> str | None:
    """Return a mirror URL's channel: `defaults` of `…/pkgs/main`, `pytorch` of `…/cloud/pytorch`."""
    mirror = mirror_of_url(url, mirrors)
    if mirror is None or mirror.conda is None:
        return None
    folders = [item for item in urlsplit(url).path.split("/") if item and item not in _SUBDIRS]
    root = [item for item in urlsplit(mirror.conda.root).path.split("/") if item]
    if "pkgs" in folders:
        return _DEFAULTS
    if "cloud" in folders:
        return "/".join(folders[folders.index("cloud") + 1 :]) or None
    return "/".join(folders[len(root) :]) or None if folders[: len(root)] == root else None


def _official_page(package: PlannedPackage, official: Mirror, mirrors: tuple[Mirror, ...]) -> str | None:
    local = package.version.partition("+")[2]
    if not local or official.torch is None or not _is_mirror(package.index, mirrors):
        return None
    return f"{official.torch.address}/{local}/{package.name}/"


def _shared(urls: Iterable[str], mirrors: tuple[Mirror, ...]) -> tuple[str, ...]:
    """Return the remote URLs that are not of mirrors."""
    return tuple(url for url in urls if url.lower().startswith(_REMOTE) and not _is_mirror(url, mirrors))


def _is_mirror(url: str | None, mirrors: tuple[Mirror, ...]) -> bool:
    mirror = mirror_at(url, mirrors) if url else None
    return mirror is not None and mirror.kind != _OFFICIAL
