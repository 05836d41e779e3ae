"""Projects whose wheels are made for one torch, CUDA and Python, as ecosystem.json knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.knowledge.families import Families
from gpuenv.knowledge.records import Row, as_capability, as_version, from_row, or_none
from gpuenv.knowledge.version_ranges import named_versions
from gpuenv.model.capability import Architecture, ComputeCapability, parse_architecture
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import Platform

_NEWEST = Version("99999")  # stands for the newest release, whichever that is

Minor = tuple[int, int]  # of torch: (2, 11)


class WheelSet(Struct, frozen=True):
    """Projects that lie on the same pages.

    `page` is an address by {torch} (MAJOR.MINOR), {variant} and {version} of the project. `match` tells how
    closely the CUDA of a wheel must be torch's. With `ended` no page for a newer torch is to be expected.
    `missing_status` are HTTP statuses, beside 404, by which its host says that there is no such page.
    """

    name: str
    projects: tuple[str, ...]
    page: str
    match: Literal["exact", "major"]
    ended: bool
    missing_status: tuple[int, ...]
    source: str

    @property
    def by_version(self) -> bool:
        """Whether the pages go by releases of the project: then a wheel's name tells its torch."""
        return "{version}" in self.page


class KnownWheels(Struct, frozen=True):
    """For which torch a set has wheels; `by` tells who built them, where it was not the project itself.

    Without `versions` or `pythons` its page tells them, without `platform` which systems they are for.
    """

    torch: Minor
    variant: str  # `cu12` is any CUDA 12
    platform: Platform | None
    pythons: tuple[str, ...]  # wheel tags: `cp312`
    versions: tuple[Version, ...]
    by: str | None
    pages: tuple[str, ...]
    source: str


class BoundProject(Struct, frozen=True):
    """A project of which more is known than its metadata tells; `least` is what a GPU must have.

    `least_for` narrows it to some releases. `pins` are those of the torch stack that its releases pin, as
    their metadata tell, or that of `through`, which has the same versions. With `built_for_pypi` its wheels
    are made for the CUDA of PyPI's build of that torch.
    """

    name: str
    set: str | None
    least: ComputeCapability | None
    least_for: SpecifierSet
    gpu_only: bool
    source: str
    pins: tuple[str, ...] = ()
    built_for_pypi: bool = False
    through: str | None = None

    def least_counts(self, wanted: SpecifierSet) -> bool:
        """Whether `least` holds for what is asked for: not where others are pinned (`<2`, `==1.0.9`)."""
        tried = (*named_versions(wanted), *named_versions(self.least_for), _NEWEST)
        return any((wanted & self.least_for).contains(version, prereleases=True) for version in tried)


class MisleadingName(Struct, frozen=True):
    """A name on PyPI that is another project's, has sources alone, or has ended; and what to ask for instead.

    `families` are the names of its wheels, one for each CUDA major.
    """

    project: str
    what: Literal["another-project", "sources", "ended"]
    instead: str
    families: tuple[str, ...]
    source: str


class Framework(Struct, frozen=True):
    """Another framework than torch: a shell pattern for its projects, the releases meant, their Pythons."""

    pattern: str
    releases: str | None
    python: str | None
    source: str


class TorchDemand(Struct, frozen=True):
    """Which torch, Python and system a release of a project is for, by its metadata and its wheels.

    `pythons` and `platforms` are the tags of its wheels.
    """

    version: Version
    torch: SpecifierSet
    python: SpecifierSet
    pythons: tuple[str, ...]
    platforms: tuple[str, ...]
    source: str

    @property
    def is_exact(self) -> bool:
        """Whether it goes with one torch alone."""
        return any(item.operator in ("==", "===") for item in self.torch)


class Ecosystem:
    """The rows of ecosystem.json as values, read when they are first asked for."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def project(self, name: str) -> BoundProject | None:
        """Return what is known of a project, by its normalized name."""
        return self._projects.get(name)

    def misleading_name(self, project: str) -> MisleadingName | None:
        """Return what is known of a name that misleads."""
        return self._names.get(project)

    @property
    def made_for_torch(self) -> tuple[str, ...]:
        """The projects of which each wheel is made for one torch."""
        return tuple(name for name, project in self._projects.items() if project.set is not None)

    def demands(self, project: str) -> tuple[TorchDemand, ...]:
        """Return what the known releases of a project ask of torch, oldest first."""
        return self._demands.get(project, ())

    def set_of(self, project: str) -> WheelSet | None:
        """Return the set that a project's wheels are found in."""
        known = self._projects.get(project)
        return self._sets.get(known.set) if known and known.set else None

    def wheels(self, name: str, platform: Platform, *, by_others: bool = False) -> tuple[KnownWheels, ...]:
        """Return for which torch a set has wheels that may fit a platform: its own, or those of others."""
        return tuple(
            project
            for project in self._wheels.get(name, ())
            if project.platform in (None, platform) and (project.by is not None) == by_others
        )

    def newest_torch(self, name: str) -> Minor:
        """Return the newest torch that a set is known to have wheels for."""
        return max(
            (project.torch for project in self._wheels.get(name, ()) if project.by is None), default=(0, 0)
        )

    def architectures(self, project: str, version: Version) -> tuple[Architecture, ...]:
        """Return what a release's own wheels have machine code for; nothing where that is not known."""
        for versions, architectures in self._codes.get(project, ()):
            if versions.contains(version, prereleases=True):
                return architectures
        return ()

    def cxx11_abi(self, torch: Version, variant: Variant) -> bool | None:
        """Tell by which C++ ABI a wheel of torch for Linux was built; None where that is not known."""
        for versions, variants, cxx11 in self._abis:
            if versions.contains(torch, prereleases=True) and (not variants or str(variant) in variants):
                return cxx11
        return None

    def _of(self, kind: str) -> tuple[Row, ...]:
        return tuple(row for row in self._rows if row["kind"] == kind)

    @cached_property
    def _projects(self) -> Mapping[str, BoundProject]:
        return {row["project"]: _parse_project(row) for row in self._of("project")}

    @cached_property
    def _names(self) -> Mapping[str, MisleadingName]:
        return {row["project"]: from_row(MisleadingName, row) for row in self._of("name")}

    @cached_property
    def frameworks(self) -> tuple[Framework, ...]:
        """The frameworks beside torch; rows for some releases stand before those for all."""
        rows = sorted(self._of("framework"), key=lambda row: row["releases"] is None)
        return tuple(from_row(Framework, row) for row in rows)

    @cached_property
    def brings_torch(self) -> tuple[str, ...]:
        """Shell patterns for the projects that are about torch, or bring it."""
        return tuple(row["pattern"] for row in self._of("brings-torch"))

    @cached_property
    def families(self) -> Families:
        """The wheels that there are for each CUDA major."""
        return Families(self._of("member"))

    @cached_property
    def _sets(self) -> Mapping[str, WheelSet]:
        return {row["set"]: from_row(WheelSet, row, name=row["set"]) for row in self._of("set")}

    @cached_property
    def _wheels(self) -> Mapping[str, tuple[KnownWheels, ...]]:
        projects: dict[str, tuple[KnownWheels, ...]] = {}
        for row in self._of("wheels"):
            projects[row["set"]] = (*projects.get(row["set"], ()), _parse_wheels(row))
        return projects

    @cached_property
    def _demands(self) -> Mapping[str, tuple[TorchDemand, ...]]:
        projects: dict[str, list[TorchDemand]] = {}
        for row in self._of("requires"):
            if not row["yanked"]:
                projects.setdefault(row["project"], []).append(_parse_demand(row))
        return {name: tuple(sorted(items, key=lambda item: item.version)) for name, items in projects.items()}

    @cached_property
    def _codes(self) -> Mapping[str, tuple[tuple[SpecifierSet, tuple[Architecture, ...]], ...]]:
        fields: dict[str, tuple[tuple[SpecifierSet, tuple[Architecture, ...]], ...]] = {}
        for row in self._of("code"):
            architectures = tuple(map(parse_architecture, row["architectures"]))
            item = (SpecifierSet(row["versions"]), architectures)
            fields[row["project"]] = (*fields.get(row["project"], ()), item)
        return fields

    @cached_property
    def _abis(self) -> tuple[tuple[SpecifierSet, tuple[str, ...], bool], ...]:
        rows = self._of("abi")
        return tuple((SpecifierSet(row["torch"]), tuple(row["variants"]), row["cxx11"]) for row in rows)


def minor_of(torch: Version) -> Minor:
    """Return MAJOR.MINOR of a release."""
    return torch.major, torch.minor


def _parse_project(row: Row) -> BoundProject:
    return from_row(
        BoundProject,
        row,
        name=row["project"],
        least=or_none(as_capability, row["least_compute_capability"]),
        least_for=SpecifierSet(row["least_for"] or ""),
        pins=tuple(row.get("pins", ())),
        built_for_pypi=row.get("built_for_pypi", False),
        through=row.get("through"),
    )


def _parse_wheels(row: Row) -> KnownWheels:
    versions = tuple(map(as_version, row["versions"]))
    return from_row(KnownWheels, row, torch=_parse_minor(row["torch"]), versions=versions)


def _parse_demand(row: Row) -> TorchDemand:
    return TorchDemand(
        as_version(row["version"]),
        SpecifierSet(row["requires_torch"] or ""),
        SpecifierSet(row["requires_python"] or ""),
        tuple(row["pythons"]),
        tuple(row["platforms"]),
        row["source"],
    )


def _parse_minor(text: Any) -> Minor:
    major, _, minor = str(text).partition(".")
    return int(major), int(minor)
