"""Digests that a page does not tell, taken from where the same file is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpuenv.values.build import WheelFile
from gpuenv.values.index import Listing


def lacks_digests(listings: tuple[Listing, ...]) -> bool:
    """Whether a page lists files of the PyTorch index without their digests."""
    return any(_lacks(file) for listing in listings for file in listing.files)


def with_digests(listings: tuple[Listing, ...], known: Mapping[str, str]) -> tuple[Listing, ...]:
    """Return the listings with the digests that other pages, or `known` (by file name), tell.

    Only files with a local version count: those of PyPI can have other bytes under the same name, and old
    builds of several variants had one name.
    """
    told = {
        file.filename: file.sha256
        for one in listings
        for file in one.files
        if file.sha256 is not None and file.version.local is not None
    }
    digests = {**known, **told}
    return tuple(
        replace(one, files=tuple(_with_digest(file, digests) for file in one.files))
        if any(map(_lacks, one.files))
        else one
        for one in listings
    )


def _lacks(file: WheelFile) -> bool:
    return file.sha256 is None and file.version.local is not None


def _with_digest(file: WheelFile, digests: Mapping[str, str]) -> WheelFile:
    return replace(file, sha256=digests.get(file.filename)) if _lacks(file) else file
