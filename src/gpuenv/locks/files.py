"""The files of a lock: as listings that a decision is made from, and as lines for an installer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import Link
from gpuenv.indexes.mirrors.canonical_urls import pypi_files_root
from gpuenv.indexes.urls import guess_source, is_remote, project_page
from gpuenv.indexes.wheel_files import parse_wheel_link
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.locked import LockedFile


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes that a lock's files may be told to be on: PyPI's, PyTorch's, and the user's own."""

    pypi: str | None
    torch: str | None
    own: tuple[str, ...] = ()


def with_index(file: LockedFile, indexes: Indexes) -> LockedFile:
    """Return a file with the index that lists it, which not every lock names; None where nobody knows one."""
    if file.index is not None:
        return replace(file, index=file.index.rstrip("/"))
    folder = file.url.rpartition("/")[0]
    if indexes.torch and f"{folder}/".startswith(f"{indexes.torch}/"):
        return replace(file, index=folder)
    return replace(file, index=indexes.pypi) if pypi_files_root(file.url) else file


def listing_of(file: LockedFile) -> Listing:
    """Return the listing of one wheel, as if its index had been read; raise ValueError for what is none."""
    location = file.index or file.url.rpartition("/")[0]
    source = guess_source(location, tr("the lock"), role="index" if file.index else "find-links")
    if source.kind == "directory":  # what lies on this machine is listed by no page
        source = IndexSource("flat", location, source.origin)
    project = canonicalize_name(file.name)
    page = project_page(location, project) if file.index else location
    wheel = parse_wheel_link(Link(file.url, file.filename, file.sha256, file.size), page)
    return Listing(source, project, (wheel,), page)


def only_locked(listings: tuple[Listing, ...], files: tuple[LockedFile, ...]) -> tuple[Listing, ...]:
    """Return the listings without files other than the locked ones, which get the lock's hashes."""
    digests = {file.filename: file.sha256 for file in files}
    return tuple(
        replace(
            listing,
            files=tuple(
                replace(file, sha256=digests[file.filename])
                for file in listing.files
                if file.sha256 in (None, digests.get(file.filename)) and file.filename in digests
            ),
        )
        for listing in listings
    )


def line_of(file: LockedFile, indexes: Indexes, *, listed: bool = False) -> str:
    """Return a line for an installer's hash mode: by name where an index that it asks has the file.

    By name, any mirror of that index will do. `listed` tells that some page that it reads lists the file.
    """
    by_name = listed or (file.index is not None and file.index in (indexes.pypi, *indexes.own))
    wanted = f"{file.name}=={file.version}" if by_name else f"{file.name} @ {file.url}"
    return f"{wanted} --hash=sha256:{file.sha256}"


def is_listed(file: LockedFile) -> bool:
    """Whether a page of its own lists a file of the torch stack."""
    return file.index is not None and is_remote(file.index)
