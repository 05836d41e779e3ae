"""How far releases lie apart, counted in the releases between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv.resolution.candidate import release_of


def named_versions(specifier: SpecifierSet) -> list[Version]:
    """Return the releases that a specifier names; what follows `===` need be none."""
    versions = (_parse(item.version.removesuffix(".*")) for item in specifier)
    return [release_of(version) for version in versions if version]


def _parse(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def distance(version: Version, anchors: Iterable[Version], known: Sequence[Version]) -> int:
    """Return how many of the `known` releases, oldest first, lie from the nearest anchor to `version`."""
    position = bisect_left(known, version)
    return min((abs(position - bisect_left(known, anchor)) for anchor in anchors), default=0)
