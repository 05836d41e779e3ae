"""Ranges of versions against each other, tried on the versions where any of them can change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

_OLDEST, _NEWEST = Version("0"), Version("99999")


@cache
def lies_within(specifiers: SpecifierSet, bad: SpecifierSet) -> bool:
    """Whether every version that `specifiers` admits is in `bad` too; false where it admits none."""
    admitted = [version for version in turning_points(specifiers, bad) if _contains(specifiers, version)]
    return bool(admitted) and all(_contains(bad, version) for version in admitted)


@cache
def lies_apart(specifiers: SpecifierSet, bad: SpecifierSet) -> bool:
    """Whether no version that `specifiers` admits is in `bad`."""
    return not any(
        _contains(specifiers, version) and _contains(bad, version)
        for version in turning_points(specifiers, bad)
    )


@cache
def _contains(specifier: SpecifierSet, version: Version) -> bool:
    return specifier.contains(version, prereleases=True)


def turning_points(*specifiers: SpecifierSet) -> frozenset[Version]:
    """The versions that are named, their neighbours, and the ends."""
    points = {_OLDEST, _NEWEST}
    for specifier in specifiers:
        for named in named_versions(specifier):
            points |= {named, *_neighbours(named.release)}
    return frozenset(points)


def named_versions(specifier: SpecifierSet) -> Iterator[Version]:
    """Yield the versions that a specifier names; what follows `===` need not be one."""
    for item in specifier:
        with suppress(InvalidVersion):
            yield Version(item.version.removesuffix(".*"))


def _neighbours(release: tuple[int, ...]) -> Iterator[Version]:
    yield _version(release)
    yield _version((*release, 0, 1))  # just above, and above its post-releases
    for position, number in enumerate(release):
        yield _version((*release[:position], number + 1))  # the end of `==1.2.*` and `~=1.2.3`
        if number:
            yield _version((*release[:position], number - 1, _NEWEST.major))


def _version(release: tuple[int, ...]) -> Version:
    return Version(".".join(map(str, release)))
