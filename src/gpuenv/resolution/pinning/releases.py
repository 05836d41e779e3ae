"""Releases of projects that pin torch, and what they require of the torch stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import reduce
from operator import and_

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.knowledge.ecosystem import BoundProject
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import Listing
from gpuenv.model.python import PythonOffer
from gpuenv.model.wheel import WheelFile
from gpuenv.resolution.request import Request, admits
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import platform_tags
from gpuenv.resolution.rules.python import admitted, runs_on
from gpuenv.resolution.target import Target
from gpuenv.resolution.torch_bound_pages import always_counts

FARTHEST_BACK = timedelta(days=365)

# what a wheel requires on the machines in question; None where that cannot be read
ReadRequires = Callable[[WheelFile], "tuple[Requirement, ...] | None"]


class Release(Struct, frozen=True):
    """One release of a project, with those of its wheels that fit the machines; `uploaded` if it is known."""

    version: Version
    files: tuple[WheelFile, ...]
    uploaded: date | None


class ReleaseChoice(Struct, frozen=True):
    """A release, and what it requires of the torch stack."""

    project: str
    release: Release
    requires: tuple[Requirement, ...]

    @property
    def torch(self) -> str:
        """What it requires of torch: `torch==2.14.0`."""
        return f"torch{required_of(self.requires, 'torch')}"

    @property
    def is_exact(self) -> bool:
        """Whether it requires one release of torch."""
        return any(item.operator in ("==", "===") for item in required_of(self.requires, "torch"))

    @property
    def label(self) -> str:
        """The release, and its day where that is known: `vllm 0.33.0 (2026-11-18)`."""
        name = f"{self.project} {self.release.version}"
        return f"{name} ({self.release.uploaded})" if self.release.uploaded else name


def pinning_projects(
    request: Request, target: Target, pythons: tuple[PythonOffer, ...], knowledge: Knowledge
) -> tuple[BoundProject, ...]:
    """Return the projects asked for whose releases pin torch; none by address, or for some Pythons alone."""
    names = (
        canonicalize_name(item.name)
        for item in request.others
        if item.url is None and always_counts(item, target, pythons)
    )
    projects = filter(None, map(knowledge.ecosystem.project, dict.fromkeys(names)))
    return tuple(project for project in projects if project.pins)


def releases_of(
    listings: Sequence[Listing], specifier: SpecifierSet, question: ResolutionInput
) -> tuple[Release, ...]:
    """Return the releases that were asked for and have wheels that run here, the newest first."""
    pythons = admitted(question.pythons, question.request.python)
    files: dict[Version, list[WheelFile]] = {}
    for listing in listings:
        for file in listing.files:
            if (
                not file.yanked
                and admits(specifier, file.version)
                and platform_tags.fits(file, question.target)
                and any(runs_on(file, offer) for offer in pythons)
            ):
                files.setdefault(file.version, []).append(file)
    return tuple(
        Release(version, tuple(files[version]), _uploaded(files[version]))
        for version in sorted(files, reverse=True)
    )


def _uploaded(files: list[WheelFile]) -> date | None:
    return min((date.fromisoformat(file.uploaded) for file in files if file.uploaded), default=None)


def within_a_year(releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """Return the releases uploaded at most a year before the newest; where no day is known, all."""
    newest = next((release.uploaded for release in releases if release.uploaded), None)
    if newest is None:
        return releases
    return tuple(item for item in releases if item.uploaded and newest - item.uploaded <= FARTHEST_BACK)


def required_of(requires: tuple[Requirement, ...], project: str) -> SpecifierSet:
    """Return all that is required of a project, joined."""
    sets = (item.specifier for item in requires if canonicalize_name(item.name) == project)
    return reduce(and_, sets, SpecifierSet())


def of_the_stack(requires: tuple[Requirement, ...], project: BoundProject) -> tuple[Requirement, ...]:
    """Return what is required of the torch stack, without markers: those hold here, or are not among them."""
    wanted: dict[str, None] = {}
    for item in requires:
        name = canonicalize_name(item.name)
        if name == "torch" or name in project.pins:
            wanted[f"{name}{item.specifier}"] = None
    return tuple(map(Requirement, sorted(wanted)))
