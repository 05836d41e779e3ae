"""How far releases lie apart, counted in the releases between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.knowledge.version_ranges import named_versions
from gpuenv.resolution.candidate import release_of


def named_releases(specifier: SpecifierSet) -> list[Version]:
    """Return the releases that a specifier names."""
    return [release_of(version) for version in named_versions(specifier)]


def distance(version: Version, anchors: Iterable[Version], known: Sequence[Version]) -> int:
    """Return how many of the `known` releases, oldest first, lie from the nearest anchor to `version`."""
    position = bisect_left(known, version)
    return min((abs(position - bisect_left(known, anchor)) for anchor in anchors), default=0)
