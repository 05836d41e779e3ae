"""What is known of a file outvotes what a page says of it; a page that says nothing is helped out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.plan import PlanWarning
from gpuenv.model.wheel import WheelFile

CONTRADICTED = "digest-contradicted"  # the code of a warning


class Contradiction(Struct, frozen=True):
    """A file that a page gives another digest than is known of it."""

    source: IndexSource
    filename: str


def need_known_digests(listings: tuple[Listing, ...], is_official: Callable[[IndexSource], bool]) -> bool:
    """Whether a page other than the official index's own lists a file with a local version."""
    others = (listing for listing in listings if listing.files and not is_official(listing.source))
    return any(file.version.local is not None for listing in others for file in listing.files)


def with_known_digests(
    listings: tuple[Listing, ...],
    shipped: Mapping[str, str],
    is_official: Callable[[IndexSource], bool],
) -> tuple[tuple[Listing, ...], tuple[Contradiction, ...]]:
    """Return the listings as far as they agree with what is known, and what contradicts it.

    Known is what the official index says, else what ships with gpuenv (`shipped`, by file name). A file that
    another page gives another digest is left out there; one without a digest gets the known one. What one
    mirror says of a file never counts for another's.

    Only files with a local version count: those of PyPI can have other bytes under the same name, and old
    builds of several variants had one name.
    """
    official = {
        file.filename: file.sha256
        for listing in listings
        if is_official(listing.source)
        for file in listing.files
        if file.sha256 is not None and file.version.local is not None
    }
    known = {**shipped, **official}
    contradictions = tuple(
        Contradiction(listing.source, file.filename)
        for listing in listings
        for file in listing.files
        if _contradicts(file, known)
    )
    return tuple(_agreeing(listing, known) for listing in listings), contradictions


def _agreeing(listing: Listing, known: Mapping[str, str]) -> Listing:
    if not any(_lacks(file) or _contradicts(file, known) for file in listing.files):
        return listing
    kept = (file for file in listing.files if not _contradicts(file, known))
    return replace(listing, files=tuple(_with_digest(file, known) for file in kept))


def _lacks(file: WheelFile) -> bool:
    return file.sha256 is None and file.version.local is not None


def _contradicts(file: WheelFile, known: Mapping[str, str]) -> bool:
    right = known.get(file.filename) if file.version.local is not None else None
    return right is not None and file.sha256 is not None and file.sha256.lower() != right


def _with_digest(file: WheelFile, known: Mapping[str, str]) -> WheelFile:
    return replace(file, sha256=known.get(file.filename)) if _lacks(file) else file


def warn_of_contradictions(contradictions: Iterable[Contradiction]) -> tuple[PlanWarning, ...]:
    """Name each place whose page contradicts what is known, with the files it is passed over for."""
    files: dict[str, list[str]] = {}
    for contradiction in contradictions:
        files.setdefault(contradiction.source.name or contradiction.source.url, []).append(
            contradiction.filename
        )
    return tuple(
        PlanWarning(
            CONTRADICTED,
            tr(
                "`{place}` lists {file} with another hash than is known; {count} of its files were ignored",
                place=location,
                file=names[0],
                count=len(names),
            ),
        )
        for location, names in files.items()
    )
