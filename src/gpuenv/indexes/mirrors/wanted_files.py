"""The files that mirrors are probed for, and finding them on their pages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from packaging.tags import Tag
from packaging.utils import NormalizedName
from packaging.version import Version

from gpuenv.model.index import Listing
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, Platform, WheelFile
from gpuenv.resolution.candidate import release_of

_TORCH = "torch"
_PLATFORM_TAGS: dict[Platform, re.Pattern[str]] = {
    "linux-64": re.compile(r"any|(?:linux|manylinux.*)_x86_64"),
    "linux-aarch64": re.compile(r"any|(?:linux|manylinux.*)_aarch64"),
    "win-64": re.compile(r"any|win_amd64"),
    "osx-arm64": re.compile(r"any|macosx_.*_(?:arm64|universal2)"),
    "osx-64": re.compile(r"any|macosx_.*_(?:x86_64|universal2)"),
}


class ProbeTarget(Struct, frozen=True):
    """A file to look for by the parts of its name; `variant` and `tags` are None for any."""

    kind: IndexKind
    project: NormalizedName
    release: Version
    variant: Variant | None
    filename: str
    tags: frozenset[Tag] | None = None
    sha256: str | None = None


class WantedFiles(Struct, frozen=True):
    """The files that mirrors are probed for.

    `groups` are the files of the plan: the PyTorch index's, and PyPI's if it has the same build; one complete
    group is enough. `instead` are those of PyPI's own build if that fits too, `newest` the newest known torch
    by kind of build, `variants` the folders to look into.
    """

    groups: tuple[tuple[ProbeTarget, ...], ...]
    platform: Platform
    instead: tuple[ProbeTarget, ...] = ()
    newest: tuple[tuple[IndexKind, Version], ...] = ()
    variants: tuple[Variant, ...] = ()

    @property
    def label(self) -> str:
        """The names of the files."""
        return ", ".join(target.filename for target in self.groups[0])


def find_target(
    probe_target: ProbeTarget, listings: Iterable[Listing], platform: Platform
) -> WheelFile | None:
    """Return the target, preferably by its own name; None where no page lists it."""
    files = [
        file
        for listing in listings
        if listing.project == probe_target.project and part_of(listing) == probe_target.kind
        for file in listing.files
        if _is_of_build(file, probe_target) and is_for(file, platform)
    ]
    files.sort(key=lambda file: file.filename != probe_target.filename)
    return next(iter(files), None)


def part_of(listing: Listing) -> IndexKind:
    """Return whose builds of torch a listing has: PyPI's own, or the PyTorch index's."""
    return "pypi" if listing.source.kind == "pypi" else "pytorch"


def _is_of_build(file: WheelFile, probe_target: ProbeTarget) -> bool:
    """Compare all but the platform tag, which may differ from the one assumed for the release."""
    if release_of(file.version) != probe_target.release or probe_target.variant not in (None, file.variant):
        return False
    return probe_target.tags is None or bool(_pythons(probe_target.tags) & _pythons(file.tags))


def _pythons(tags: frozenset[Tag]) -> set[tuple[str, str]]:
    return {(tag.interpreter, tag.abi) for tag in tags}


def is_for(file: WheelFile, platform: Platform) -> bool:
    """Whether a file is for a platform, whatever its glibc."""
    pattern = _PLATFORM_TAGS[platform]
    return any(pattern.fullmatch(tag.platform) for tag in file.tags)


def file_to_read(wanted: WantedFiles, listings: tuple[Listing, ...]) -> WheelFile | None:
    """Return the file to sample: the plan's, else PyPI's that fits, else the mirror's newest torch."""
    for group in (*wanted.groups, wanted.instead):
        file = find_target(group[0], listings, wanted.platform) if group else None
        if file is not None and "://" in file.url:
            return file
    return newest_file(listings, wanted.platform)


def newest_file(listings: Iterable[Listing], platform: Platform | None = None) -> WheelFile | None:
    """Return a remote wheel of the newest torch."""
    files = [
        file
        for listing in listings
        if listing.project == _TORCH
        for file in listing.files
        if "://" in file.url and (platform is None or is_for(file, platform))
    ]
    return max(files, key=lambda file: (not file.version.is_prerelease, file.version), default=None)
