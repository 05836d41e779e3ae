"""For which Pythons releases of other projects are built, and what of conda's goes with one torch or CUDA."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from msgspec import Struct
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.knowledge.records import DriverOs

Bound = Literal["torch", "cuda", "toolkit", "included"]
BOUND: tuple[Bound, ...] = get_args(Bound)


class BoundPackage(Struct, frozen=True):
    """conda packages that go with one torch, or with one CUDA, which their name may tell."""

    package: re.Pattern[str]
    bound: Bound
    source: str


class SystemPackage(Struct, frozen=True):
    """conda packages that serve one system alone."""

    package: re.Pattern[str]
    system: DriverOs
    source: str


class BuiltReleases(Struct, frozen=True, eq=False):
    """The rows of releases.json; `pythons` has the releases of a project, oldest first, with theirs."""

    pythons: Mapping[str, tuple[tuple[Version, frozenset[str]], ...]]
    packages: tuple[BoundPackage, ...]
    same: frozenset[str]  # projects whose name is the same on conda's channels and on PyPI
    systems: tuple[SystemPackage, ...] = ()
    tied: frozenset[tuple[str, str]] = frozenset()  # a project, and one that pins its releases closely

    def is_built(self, project: str, wanted: SpecifierSet, python: str) -> bool:
        """Whether one of the releases asked for is built for a Python (`cp39`); True where none is known."""
        known = [item for item in self.pythons.get(project, ()) if _admits(wanted, item[0])]
        return not known or any(python in pythons for _, pythons in known)

    def nearest(
        self, project: str, wanted: SpecifierSet, python: str, limits: SpecifierSet
    ) -> Version | None:
        """Return the release for a Python that is the fewest releases from those asked for, the newer of two.

        None where there is none within the limits.
        """
        found = self._nearest(project, wanted, python, limits)
        return found[2] if found else None

    def distance(self, project: str, wanted: SpecifierSet, python: str) -> int:
        """Return how many releases the nearest for a Python is away; as many as there are where none is."""
        found = self._nearest(project, wanted, python, SpecifierSet())
        return found[0] if found else len(self.pythons.get(project, ()))

    def is_same(self, project: str, one: SpecifierSet, other: SpecifierSet, python: str) -> bool:
        """Whether two specifiers admit the same known releases for a Python, and at least one."""
        there = [version for version, pythons in self.pythons.get(project, ()) if python in pythons]
        admitted = [version for version in there if _admits(one, version)]
        return bool(admitted) and admitted == [version for version in there if _admits(other, version)]

    def _nearest(
        self, project: str, wanted: SpecifierSet, python: str, limits: SpecifierSet
    ) -> tuple[int, int, Version] | None:
        rows = self.pythons.get(project, ())
        asked = [position for position, (version, _) in enumerate(rows) if _admits(wanted, version)]
        there = [
            (min(abs(position - item) for item in asked), -position, version)
            for position, (version, pythons) in enumerate(rows)
            if asked and python in pythons and _admits(limits, version)
        ]
        return min(there, default=None)

    def bound(self, name: str) -> tuple[BoundPackage, re.Match[str]] | None:
        """Return how a conda package is bound, with what its name tells; None for one that is not known."""
        found = ((package, package.package.fullmatch(name)) for package in self.packages)
        return next(((package, match) for package, match in found if match), None)

    def system_of(self, name: str) -> SystemPackage | None:
        """Return the one system that a conda package serves; None for one of several, or not known."""
        return next((item for item in self.systems if item.package.fullmatch(name)), None)


def _admits(wanted: SpecifierSet, version: Version) -> bool:
    return wanted.contains(version, prereleases=True)


def parse_built_releases(rows: Iterable[Mapping[str, Any]]) -> BuiltReleases:
    """Parse the rows of releases.json; raise KeyError, TypeError or ValueError."""
    pythons: defaultdict[str, list[tuple[Version, frozenset[str]]]] = defaultdict(list)
    packages: list[BoundPackage] = []
    systems: list[SystemPackage] = []
    tied: set[tuple[str, str]] = set()
    same: set[str] = set()
    for row in rows:
        if row["kind"] == "bound":
            packages.append(BoundPackage(re.compile(row["package"]), row["bound"], row["source"]))
        elif row["kind"] == "system":
            systems.append(SystemPackage(re.compile(row["package"]), row["system"], row["source"]))
        elif row["kind"] == "tied":
            tied.add((row["project"], row["by"]))
        elif row["kind"] == "same":
            same.add(row["project"])
        else:
            names = frozenset(row["pythons"])
            pythons[row["project"]] += [(Version(version), names) for version in row["versions"]]
    ordered = {project: tuple(sorted(items, key=lambda item: item[0])) for project, items in pythons.items()}
    return BuiltReleases(ordered, tuple(packages), frozenset(same), tuple(systems), frozenset(tied))
