"""What new builds of torch depend on, with sizes: read from the wheels that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.pool import in_turns
from gpuenv.http.ranges import ByteRanges
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.knowledge.dependencies import ANY
from gpuenv.matrix.dependency_rows import file_row, sizes_of
from gpuenv.matrix.read_wheel import read_metadata
from gpuenv.matrix.refresh_rows import cite_file
from gpuenv.matrix_checks.keys import Row
from gpuenv.matrix_checks.refresh_targets import TORCH, platform_of, pythons_of
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.wheel import Platform, WheelFile
from gpuenv.wheels.archive import WheelArchive, WheelProblem, open_local_wheel, open_wheel

_PREFERRED = ("cp312", "cp311", "cp310")  # a wheel of a Python that most projects have one for


class UnsizedRequirement(Struct, frozen=True):
    """A requirement of a build or of a wheel on a platform, of which no row tells the size."""

    requirement: Requirement
    platform: Platform

    @property
    def project(self) -> NormalizedName:
        """The name of the project."""
        return canonicalize_name(self.requirement.name)


class DependencyTarget(Struct, frozen=True):
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


_AT_A_TIME = 8
_WHEEL_S = 60.0
_ROUNDS = 6  # torch, cuda-toolkit, nvidia-cudnn, nvidia-cublas: no chain is longer
# what builds of torch ask for, and what stands beside them in most environments
BESIDE = ("numpy", "pillow")


def read_dependencies(
    builds: Iterable[Row],
    known: tuple[Row, ...],
    sources: tuple[IndexSource, ...],
    client: HttpClient,
    date: str,
) -> Iterator[tuple[Row, ...]]:
    """Yield rows for the wheels that the builds bring and no row tells of; what can't be read is left out."""
    asking: tuple[Row, ...] = tuple(builds)
    listed: dict[str, tuple[Listing, ...]] = {}
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        wanted = unknown_of(asking, known)
        names = tuple(dict.fromkeys(unsized.project for unsized in wanted if unsized.project not in listed))
        listings = read_listings(sources, names, client) if names else ()
        for name in names:
            listed[name] = tuple(listing for listing in listings if listing.project == name)
        targets = find_wheels(wanted, (listing for result in listed.values() for listing in result))
        fresh = tuple(target for target in targets if _key(target) not in tried)
        tried.update(map(_key, fresh))
        asking = tuple(_read_all(fresh, client, date))
        known = (*known, *asking)
        if not asking:
            return
        yield asking


def _key(target: DependencyTarget) -> str:
    return f"{target.platform} {target.file.filename}"


def _read_all(targets: tuple[DependencyTarget, ...], client: HttpClient, date: str) -> Iterator[Row]:
    jobs: list[Callable[[], Row | None]] = [partial(_read, target, client, date) for target in targets]
    for _, answer in in_turns(jobs, at_a_time=_AT_A_TIME, limit_s=_WHEEL_S):
        if answer is not None and not isinstance(answer, HttpProblem):
            yield answer


def _read(target: DependencyTarget, client: HttpClient, date: str) -> Row | None:
    try:
        with open_any(target.file.url, client, target.file.size) as archive:
            metadata, _ = read_metadata(archive)
            sizes = sizes_of(archive)
    except WheelProblem:
        return None
    except OSError as error:
        raise HttpProblem(reason_of(error)) from None
    if metadata is None:
        return None
    source = cite_file(target.file, "pypi", date)
    return file_row(target.file, target.platform, metadata, sizes, source, target.extras)


def open_any(url: str, client: HttpClient, size: int | None) -> WheelArchive:
    """Open a wheel on a server or on disk; its whole directory is to be read."""
    if is_remote(url):
        return open_wheel(ByteRanges(client, url, length=size), whole=True)
    return open_local_wheel(local_path(url))
