"""The official addresses of a lock's files, and their hashes: listed, known, or computed from a download."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from hashlib import sha256
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from gpuenv.http import HttpClient
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.installer_default import default_file_host, default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.mirrors.canonical_urls import Official, pypi_files_root
from gpuenv.indexes.urls import guess_source, is_remote, local_path
from gpuenv.model.errors import Because, Fix, Unsatisfiable, UsageError
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.model.plan import Plan, PlannedPackage
from gpuenv.planning.hashes import HashFetcher, HashProgress, Unwatched
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.shipped_listing import known_digests

_CHUNK = 1 << 20  # bytes
NO_HASH = "no-hash"
_FOLDER = "packages"  # where the default index has its files


class Hashing(Struct, frozen=True):
    """Whether every file needs a hash, and who follows what is fetched for one that no page tells."""

    required: bool = True
    follower: HashProgress | None = None


class Hashes(Struct, frozen=True):
    """Where hashes come from: what is known, official places, at last the files themselves."""

    known: Mapping[str, str]
    places: OfficialPlaces
    required: bool
    fetcher: HashFetcher | None


def hashes_for(
    plan: Plan, places: OfficialPlaces, options: PlanOptions, environ: Mapping[str, str], hashing: Hashing
) -> Hashes:
    """Return where the hashes of a plan's files come from."""
    wanted = options.fetch_hashes and not options.offline and hashing.required
    follower = hashing.follower or Unwatched()
    fetcher = HashFetcher(environ, plan.sources.access, follower) if wanted else None
    # the hashes of the stack's files that other pages have, or that ship with gpuenv
    pages = ((file.filename, page.sha256) for file in plan.stack for page in file.places)
    listed = {filename: sha256 for filename, sha256 in pages if sha256}
    return Hashes({**known_digests(), **listed}, places, hashing.required, fetcher)


def with_hash(package: PlannedPackage, hashes: Hashes) -> PlannedPackage:
    """Return a package with its hash: as it is told, of the file that is here, or as an index has it.

    Where no index tells it, the file is fetched if that was asked for; a format that names none goes without.
    """
    if package.sha256:
        return package
    url = package.url or ""
    if not is_remote(url):
        return replace(package, sha256=_digest(url))
    message = hashes.known.get(str(package.filename)) if "+" in package.version else None
    if message:
        return replace(package, sha256=message)
    planned = hashes.places.find(package)
    if planned is not None or not hashes.required:
        return planned or package
    if hashes.fetcher is not None and str(package.filename).endswith(".whl"):
        return replace(package, sha256=hashes.fetcher.digest(package))
    text = tr("none of the indexes provides the hash of {file}", file=package.filename)
    raise unlockable(package, text, NO_HASH)


def _digest(url: str) -> str:
    path, digest = local_path(url), sha256()
    try:
        with path.open("rb") as file:
            for chunk in iter(partial(file.read, _CHUNK), b""):
                digest.update(chunk)
    except OSError as error:
        message = tr("{path} cannot be read: {reason}", path=path, reason=reason_of(error))
        raise UsageError(message, code="unreadable") from None
    return digest.hexdigest()


def unlockable(package: PlannedPackage, text: str, code: str) -> Unsatisfiable:
    """Return the refusal for a package that a lock can't name."""
    because = Because(tr("it comes from {place}", place=package.index or package.url), package.name)
    fixes = [Fix(tr("plan with an index that provides it, such as --mirror official, and without --offline"))]
    if code == NO_HASH:
        fixes.append(Fix(tr("or download it and compute the hash with `--fetch-hashes`")))
    return Unsatisfiable(text, code=code, because=(because,), fixes=tuple(fixes))


class OfficialPlaces(Struct, frozen=True, dict=True):
    """Finds official places for a plan; each thing is asked once, and only where its answer is needed."""

    plan: Plan
    official: Mirror
    environ: Mapping[str, str]
    offline: bool

    @cached_property
    def torch(self) -> str | None:
        """The PyTorch index."""
        return self.official.torch.address if self.official.torch else None

    @cached_property
    def index(self) -> str | None:
        """PyPI's index: the one that is configured for gpuenv, else the installer's default."""
        own = self.official.pypi.simple if self.official.pypi else None
        return own or default_index(self.environ)

    def places(self, mirrored: tuple[str, ...]) -> Official:
        """Return the official places; `mirrored` are the projects that come from mirrors of PyPI.

        Where PyPI has its files is told by links on cached pages, by pip, or by a page that is read now.
        """
        projects = tuple(canonicalize_name(name) for name in mirrored)
        files = None
        if projects:
            files = self._linked(projects, offline=True) or self._pips or self._linked(projects[:1])
        return Official(self.torch, self.index, files)

    def find(self, package: PlannedPackage) -> PlannedPackage | None:
        """Return a file as an index lists it with its hash; None where none does.

        The plan's own index is asked, PyPI and the PyTorch index's folder of the variant.
        """
        folder = f"{self.torch}/{self.plan.variant}" if self.torch else None
        places = (self.plan.sources.index_url, self.index, folder)
        sources = tuple(_source(location) for location in dict.fromkeys(places) if location)
        for listing in self._read(sources, (canonicalize_name(package.name),), offline=self.offline):
            for file in listing.files:
                same = file.filename == package.filename and package.sha256 in (None, file.sha256)
                if same and file.sha256 and file.url:
                    planned = replace(package, url=file.url, index=listing.source.url)
                    return replace(planned, sha256=file.sha256, size=package.size or file.size)
        return None

    @cached_property
    def _pips(self) -> str | None:
        """Where pip's own default index has its files."""
        configured = self.official.pypi and self.official.pypi.simple
        host = None if configured or not self.index else default_file_host()
        return f"{urlsplit(self.index or '').scheme}://{host}/{_FOLDER}" if host else None

    def _linked(self, projects: tuple[NormalizedName, ...], *, offline: bool = False) -> str | None:
        if self.index is None:
            return None
        pages = self._read((_source(self.index),), projects, offline=offline or self.offline)
        links = (pypi_files_root(file.url) for page in pages for file in page.files)
        return next((root for root in links if root), None)

    def _read(
        self, sources: tuple[IndexSource, ...], projects: tuple[NormalizedName, ...], *, offline: bool
    ) -> tuple[Listing, ...]:
        with HttpClient(self.environ, access=self.plan.sources.access, offline=offline) as client:
            return read_listings(sources, projects, client)


def _source(location: str) -> IndexSource:
    return guess_source(location, tr("the lock"))
