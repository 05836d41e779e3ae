"""A lock as it is read: its machine, its files as listings for a decision and as lines for an installer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv.files.read_text import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import Link
from gpuenv.indexes.mirrors.canonical_urls import pypi_files_root
from gpuenv.indexes.urls import guess_source, project_page
from gpuenv.indexes.wheel_files import parse_wheel_link
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.locks.parse_pylock import LockNeeds, needs_of, parse_lock
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.locked import LockedFile
from gpuenv.model.variant import Variant
from gpuenv.resolution.request import COMPANIONS
from gpuenv.untrusted.documents import load_toml

if TYPE_CHECKING:
    from packaging.pylock import Pylock

_TORCH = "torch"


class Lock(Struct, frozen=True):
    """A lock that was read, and where it lies."""

    path: Path
    document: Pylock
    needs: LockNeeds

    @property
    def folder(self) -> str:
        """The URL of its folder, where relative paths start."""
        return f"{self.path.absolute().parent.as_uri()}/"


def read_lock(path: Path) -> Lock:
    """Read a pylock.toml; raise UsageError for what is none."""
    try:
        document = parse_lock(load_toml(read_text(path)))
    except RecursionError:
        raise bad_lock(path, tr("it is nested too deeply")) from None
    except (OSError, ValueError) as error:  # the file; TOML, UTF-8 and the fields
        raise bad_lock(path, reason_of(error)) from None
    return Lock(path, document, needs_of(document))


def bad_lock(path: Path, reason: str) -> UsageError:
    """Say why a file can't be used as a lock."""
    return UsageError(
        tr("`{path}` cannot be used as a lock: {reason}", path=path, reason=reason),
        code="bad-lock",
        fixes=(Fix(tr("create one"), "gpuenv plan --format pylock.toml -o pylock.toml"),),
    )


def with_needs(knowledge: Knowledge, lock: Lock) -> Knowledge:
    """Add what the lock tells of a build of torch that no matrix has: it may come from a newer gpuenv."""
    needs = lock.needs
    torch = next((package.version for package in lock.document.packages if package.name == _TORCH), None)
    if torch is None or needs.variant is None or needs.platform is None or not needs.architectures:
        return knowledge
    variant = Variant(needs.variant)
    if knowledge.find_build(torch, variant, needs.platform, "pytorch"):
        return knowledge
    facts = {"torch": torch.public, "source": str(lock.path), "evidence": "assumed"}
    row: dict[str, Any] = {
        **facts, "variant": needs.variant, "platform": needs.platform, "index": "pytorch",
        "cuda": str(variant.cuda) if variant.cuda else None, "pythons": [], "cudnn": None, "tags": [],
        "architectures": list(needs.architectures),
    }  # fmt: skip
    facts |= {"kind": "pair", "basis": "lock"}
    pairs = tuple(
        {**facts, "project": package.name, "versions": [package.version.public]}
        for package in lock.document.packages
        if package.name in COMPANIONS and package.version
    )
    return replace(
        knowledge,
        torch_rows=(*knowledge.torch_rows, row),
        companion_rows=(*knowledge.companion_rows, *pairs),
    )


class Indexes(Struct, frozen=True):
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
