"""The builds that come into question: those the matrix knows and those that indexes list."""

from __future__ import annotations

from collections import defaultdict

from packaging.version import Version

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import Listing
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, WheelFile
from gpuenv.resolution.candidate import Candidate, IndexedFile, release_of
from gpuenv.resolution.request import COMPANIONS, Request
from gpuenv.resolution.rules import bundled_libraries, driver, gpu_code, requested
from gpuenv.resolution.rules.companion_failures import AvailableCompanions
from gpuenv.resolution.rules.platform_tags import fitting, for_platform
from gpuenv.resolution.target import Target

_Key = tuple[Version, Variant, IndexKind]


def collect_candidates(
    listings: tuple[Listing, ...], target: Target, knowledge: Knowledge
) -> tuple[Candidate, ...]:
    """Return every build for the target's platform, each with the files that are listed of it."""
    if target.is_accelerated:
        from gpuenv.resolution.accelerators.collect import accelerated_candidates  # noqa: PLC0415

        return accelerated_candidates(_indexed_files(listings, "torch", target), target, knowledge)
    files: dict[_Key, list[IndexedFile]] = defaultdict(list)
    for row in knowledge.builds_of(target.platform):
        files[row.torch, row.variant, row.index] = []
    for item in _indexed_files(listings, "torch", target):
        variant = _variant(item, target, knowledge)
        if variant is not None:
            key = (item.release, variant, _kind(item.file, item.listing))
            files[key].append(item)
    return tuple(
        Candidate(
            torch,
            variant,
            kind,
            knowledge.find_build(torch, variant, target.platform, kind),
            tuple(indexed_files),
        )
        for (torch, variant, kind), indexed_files in files.items()
    )


def named_listings(
    listings: tuple[Listing, ...], target: Target, knowledge: Knowledge
) -> tuple[Listing, ...]:
    """Return the listings with variants on the files whose names do not tell for what they are here."""
    if not target.is_accelerated:
        return listings
    from gpuenv.resolution.accelerators.collect import with_variants  # noqa: PLC0415

    return with_variants(listings, target, knowledge)


def plugins_of(target: Target) -> tuple[str, ...]:
    """Return the projects that make torch for the CPU use the target's accelerators."""
    return ("torch-npu",) if target.kind == "npu" else ()


def collect_companions(
    listings: tuple[Listing, ...], target: Target, bound: tuple[str, ...] = ()
) -> AvailableCompanions:
    """Return the files of the companions, and of projects bound to torch, that fit the target's systems."""
    places: dict[tuple[str, Version], list[IndexedFile]] = defaultdict(list)
    for project in (*COMPANIONS, *plugins_of(target), *bound):
        for item in fitting(_indexed_files(listings, project, target), target):
            places[project, item.release].append(item)
    down = {str(listing.project): listing for listing in reversed(listings) if listing.problem}
    return AvailableCompanions({key: tuple(items) for key, items in places.items()}, down)


def _indexed_files(listings: tuple[Listing, ...], project: str, target: Target) -> tuple[IndexedFile, ...]:
    return tuple(
        IndexedFile(file, listing, order, release_of(file.version))
        for order, listing in enumerate(listings)
        if listing.project == project
        for file in listing.files
        if not file.yanked and for_platform(file, target)
    )


def _variant(item: IndexedFile, target: Target, knowledge: Knowledge) -> Variant | None:
    if item.file.version.local and item.file.variant is None:
        return None  # somebody's own build
    return item.file.variant or knowledge.pypi_variant(item.release, target.platform)


def _kind(file: WheelFile, listing: Listing) -> IndexKind:
    """A file without a local version is PyPI's, unless its folder on the PyTorch index names a variant."""
    if listing.source.kind == "conda":
        return "conda"
    named_by_place = file.variant is not None and listing.source.kind in ("pytorch", "snapshot", "flat")
    return "pytorch" if file.version.local or named_by_place else "pypi"


def builds_worth_asking(
    request: Request, target: Target, knowledge: Knowledge, others: tuple[Target, ...] = ()
) -> tuple[Candidate, ...]:
    """Return the PyTorch index's builds that the request admits and that would run, newest torch first.

    With `others`, targets of the same platform, they would run on one of them at least.
    """
    candidates = [
        candidate
        for candidate in collect_candidates((), target, knowledge)
        if (candidate.kind == "pytorch" or candidate.accelerated is not None)
        and any(_would_run(candidate, request, location, knowledge) for location in (target, *others))
    ]
    return tuple(
        sorted(
            candidates,
            key=lambda candidate: (candidate.torch, candidate.cuda is not None, candidate.variant.release),
            reverse=True,
        )
    )


def _would_run(candidate: Candidate, request: Request, target: Target, knowledge: Knowledge) -> bool:
    if candidate.accelerated is not None:
        from gpuenv.resolution.rules import accelerators  # noqa: PLC0415

        failures = accelerators.check(candidate, target, knowledge)
        return not (failures or requested.check(candidate, request))
    return requested.in_question(candidate, request, target) and not (
        requested.check(candidate, request)
        or driver.check(candidate, target, knowledge)
        or gpu_code.check(candidate, target, knowledge)
        or bundled_libraries.check(candidate, target, knowledge)
    )
