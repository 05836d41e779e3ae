"""Where else a planned file lies: the same file on other indexes."""

from __future__ import annotations

from collections.abc import Iterator

from gpuenv.model.index import Listing
from gpuenv.model.plan import FilePlace, StackFile
from gpuenv.model.wheel import WheelFile
from gpuenv.resolution.candidate import IndexedFile


def stack_of(files: tuple[IndexedFile, ...], listings: tuple[Listing, ...]) -> tuple[StackFile, ...]:
    """Return where the chosen files can be had, the chosen place first; those that no page lists left out."""
    return tuple(
        StackFile(
            name=str(indexed.file.name),
            filename=indexed.file.filename,
            places=_places(indexed, listings),
        )
        for indexed in files
        if indexed.file.url
    )


def _places(indexed: IndexedFile, listings: tuple[Listing, ...]) -> tuple[FilePlace, ...]:
    """What one page says of its file says nothing of another's: that has its own digest, or a known one."""
    pairs = ((indexed.listing, indexed.file), *_alike(indexed.file, listings))
    return tuple(
        FilePlace(listing.source.url, listing.page, file.url, file.sha256, file.size)
        for listing, file in pairs
    )


def _alike(file: WheelFile, listings: tuple[Listing, ...]) -> Iterator[tuple[Listing, WheelFile]]:
    seen = {file.url}
    for listing in listings:
        for other in listing.files if listing.project == file.name else ():
            if other.url and other.url not in seen and not other.yanked and _is_same(file, other):
                seen.add(other.url)
                yield listing, other


def _is_same(file: WheelFile, other: WheelFile) -> bool:
    """Whether two files of one name are one; old releases had one name for builds of several variants."""
    if file.filename != other.filename:
        return False
    if file.sha256 and other.sha256:
        return file.sha256 == other.sha256
    return file.version.local is not None or file.variant == other.variant
