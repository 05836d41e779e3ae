"""Words that the sentences of several rules share: what they are about, in few names."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import Version

from gpuenv.i18n.messages import series, tr

_SHOWN = 4


def list_builds(labels: Iterable[str]) -> str:
    """Name builds; of many, the first few and how many more."""
    names = list(dict.fromkeys(labels))
    if len(names) <= _SHOWN:
        return series(names)
    return tr("{shown} and {more} more builds", shown=series(names[:_SHOWN]), more=len(names) - _SHOWN)


def range_of_releases(torches: Iterable[Version]) -> str:
    """Name releases as a range: not all in between need be meant."""
    versions = sorted(set(torches))
    if len(versions) == 1:
        return tr("builds of torch {version}", version=versions[0])
    return tr("builds of torch {first} to {last}", first=versions[0], last=versions[-1])


def join_pages(names: tuple[str, ...]) -> str:
    """Join the addresses of pages, each once."""
    return series(dict.fromkeys(names))
