"""The official places of what a plan takes from mirrors: for files that are shared with other people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import urlsplit

from gpuenv.core.mirror_names import mirror_of_url
from gpuenv.values.build import PLATFORMS
from gpuenv.values.mirror import Mirror
from gpuenv.values.plan import Plan, PlannedPackage, Sources

_OFFICIAL = "official"
_DEFAULTS = "defaults"
_SUBDIRS = (*PLATFORMS, "noarch")


def canonical_sources(plan: Plan, mirrors: tuple[Mirror, ...]) -> Sources:
    """Return where the plan's packages lie officially: no address of a known mirror is left.

    What comes from a mirror of PyPI is left to the installer's own index; an index that is no known mirror,
    such as a lab's, stays.
    """
    official = next(one for one in mirrors if one.kind == _OFFICIAL)
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
    """Return the name of the conda channel at an address on a known mirror; None for any other address.

    `https://mirror.example/anaconda/cloud/pytorch` is `pytorch`, `.../anaconda/pkgs/main` is `defaults`.
    """
    mirror = mirror_of_url(url, mirrors)
    if mirror is None or mirror.conda is None:
        return None
    folders = [one for one in urlsplit(url).path.split("/") if one and one not in _SUBDIRS]
    root = [one for one in urlsplit(mirror.conda.root).path.split("/") if one]
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


def _shared(places: Iterable[str], mirrors: tuple[Mirror, ...]) -> tuple[str, ...]:
    """Those that mean something on another machine, and are no mirrors."""
    remote = (place for place in places if place.lower().startswith(("http://", "https://")))
    return tuple(place for place in remote if not _is_mirror(place, mirrors))


def _is_mirror(url: str | None, mirrors: tuple[Mirror, ...]) -> bool:
    found = mirror_of_url(url, mirrors) if url else None
    return found is not None and found.kind != _OFFICIAL
