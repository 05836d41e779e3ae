"""Which wheels have to be read to know what a build of torch brings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from gpuenv.knowledge.dependencies import ANY
from gpuenv.matrix_checks.refresh_targets import TORCH, platform_of, pythons_of
from gpuenv.model.index import Listing
from gpuenv.model.wheel import Platform, WheelFile

Row = Mapping[str, Any]
_PREFERRED = ("cp312", "cp311", "cp310")  # a wheel of a Python that most projects have one for


@dataclass(frozen=True, slots=True)
class UnsizedRequirement:
    """A requirement of a build or of a wheel on a platform, of which no row tells the size."""

    requirement: Requirement
    platform: Platform

    @property
    def project(self) -> NormalizedName:
        """The name of the project."""
        return canonicalize_name(self.requirement.name)


@dataclass(frozen=True, slots=True)
class DependencyTarget:
    """A wheel to read; `extras` are those that are asked for."""

    file: WheelFile
    platform: Platform
    extras: tuple[str, ...]


def unknown_of(rows: Iterable[Row], known: Iterable[Row]) -> tuple[UnsizedRequirement, ...]:
    """Return what the rows ask for that no known row of a wheel answers, each once."""
    files: dict[str, list[Row]] = {}
    for row in known:
        if row["kind"] == "file":
            files.setdefault(row["project"], []).append(row)
    wanted: dict[tuple[str, Platform], UnsizedRequirement] = {}
    for unsized in _asked(rows):
        if unsized.project != TORCH and not _is_known(unsized, files.get(unsized.project, [])):
            wanted.setdefault((str(unsized.requirement), unsized.platform), unsized)
    return tuple(wanted.values())


def _asked(rows: Iterable[Row]) -> Iterator[UnsizedRequirement]:
    for row in rows:
        platform: Platform = "linux-64" if row["platform"] == ANY else row["platform"]
        for text in row["requires"]:
            yield UnsizedRequirement(Requirement(text), platform)


def _is_known(wanted: UnsizedRequirement, rows: Iterable[Row]) -> bool:
    return any(
        row["platform"] in (wanted.platform, ANY)
        and wanted.requirement.specifier.contains(row["version"], prereleases=True)
        for row in rows
    )


def find_wheels(
    wanted: Iterable[UnsizedRequirement], listings: Iterable[Listing]
) -> tuple[DependencyTarget, ...]:
    """Return the newest wheel that answers each; what nobody lists is left out."""
    by_project: dict[NormalizedName, list[WheelFile]] = {}
    for listing in listings:
        by_project.setdefault(listing.project, []).extend(listing.files)
    chosen: dict[tuple[str, Platform], WheelFile] = {}
    extras: dict[tuple[str, Platform], set[str]] = {}
    for unsized in wanted:
        file = _choose(unsized, by_project.get(unsized.project, []))
        if file:
            key = file.filename, unsized.platform
            chosen[key] = file
            extras.setdefault(key, set()).update(unsized.requirement.extras)
    return tuple(
        DependencyTarget(file, platform, tuple(sorted(extras[name, platform])))
        for (name, platform), file in chosen.items()
    )


def _choose(wanted: UnsizedRequirement, files: Iterable[WheelFile]) -> WheelFile | None:
    fitting = [
        file
        for file in files
        if wanted.requirement.specifier.contains(file.version)
        and not (file.version.is_prerelease or file.version.local or file.yanked)
        and (platform_of(file) == wanted.platform or any(tag.platform == ANY for tag in file.tags))
    ]
    return max(fitting, key=lambda file: (file.version, _rank(file), file.filename), default=None)


def _rank(file: WheelFile) -> int:
    pythons = pythons_of(file)
    ranks = (len(_PREFERRED) - position for position, name in enumerate(_PREFERRED) if name in pythons)
    return max(ranks, default=0)
