"""The files that mirrors are asked for, and finding them on their pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from packaging.tags import Tag
from packaging.utils import NormalizedName
from packaging.version import Version

from gpuenv.model.index import Listing
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, Platform, WheelFile
from gpuenv.resolution.candidate import release_of

_TORCH = "torch"


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """A file to look for, by what its name says; `filename` is how it is called where it was seen.

    `variant` is None where any will do, and for the builds of PyPI; `tags` are None where any file of the
    platform will do. `sha256` is what is known of it elsewhere.
    """

    kind: IndexKind
    project: NormalizedName
    release: Version
    variant: Variant | None
    filename: str
    tags: frozenset[Tag] | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class WantedFiles:
    """What the mirrors are asked for.

    `groups` are the files of the plan: the PyTorch index's, and PyPI's where it has the same build; one of
    them whole is enough. `instead` are those of PyPI's own build that fits as well, where that is another,
    `newest` the newest torch that is known to be published, by whose build it is, `variants` the folders to
    look into.
    """

    groups: tuple[tuple[ProbeTarget, ...], ...]
    platform: Platform
    instead: tuple[ProbeTarget, ...] = ()
    newest: tuple[tuple[IndexKind, Version], ...] = ()
    variants: tuple[Variant, ...] = ()

    @property
    def label(self) -> str:
        """The files in words."""
        return ", ".join(target.filename for target in self.groups[0])


def find_target(
    probe_target: ProbeTarget, listings: Iterable[Listing], platform: Platform
) -> WheelFile | None:
    """Return the file that is looked for, by its own name first; None where no page lists it."""
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
    """Whose builds of torch a listing has: PyPI's own, or the PyTorch index's."""
    return "pypi" if listing.source.kind == "pypi" else "pytorch"


def _is_of_build(file: WheelFile, probe_target: ProbeTarget) -> bool:
    """The platform tag may be another than was assumed: a release's is known for sure from its page alone."""
    if release_of(file.version) != probe_target.release or probe_target.variant not in (None, file.variant):
        return False
    return probe_target.tags is None or bool(_pythons(probe_target.tags) & _pythons(file.tags))


def _pythons(tags: frozenset[Tag]) -> set[tuple[str, str]]:
    return {(tag.interpreter, tag.abi) for tag in tags}


def is_for(file: WheelFile, platform: Platform) -> bool:
    """Whether a file is for a platform, whatever its glibc."""
    return any(_is_tag_for(tag.platform, platform) for tag in file.tags)


def _is_tag_for(tag: str, platform: Platform) -> bool:
    if tag == "any":
        return True
    if platform == "win-64":
        return tag == "win_amd64"
    arch = "x86_64" if platform == "linux-64" else "aarch64"
    return tag.startswith(("linux_", "manylinux")) and tag.endswith(f"_{arch}")


def file_to_read(wanted: WantedFiles, listings: tuple[Listing, ...]) -> WheelFile | None:
    """Return the file to measure a mirror by: the plan's, else PyPI's that fits, else its newest torch."""
    for group in (*wanted.groups, wanted.instead):
        file = find_target(group[0], listings, wanted.platform) if group else None
        if file is not None and "://" in file.url:
            return file
    return newest_file(listings, wanted.platform)


def newest_file(listings: Iterable[Listing], platform: Platform | None = None) -> WheelFile | None:
    """Return a wheel of the newest torch that can be fetched."""
    files = [
        file
        for listing in listings
        if listing.project == _TORCH
        for file in listing.files
        if "://" in file.url and (platform is None or is_for(file, platform))
    ]
    return max(files, key=lambda file: (not file.version.is_prerelease, file.version), default=None)
