"""The hashes of a lock's files: listed, known, or computed from what is downloaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.locks.official_urls import OfficialPlaces
from gpuenv.model.errors import Because, Fix, Unsatisfiable, UsageError
from gpuenv.model.plan import Plan, PlannedPackage
from gpuenv.planning.hashes.fetch import HashFetcher, HashProgress, Unwatched
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.shipped_listing import known_digests

_CHUNK = 1 << 20  # bytes
NO_HASH = "no-hash"


@dataclass(frozen=True, slots=True)
class Hashing:
    """Whether every file needs a hash, and who follows what is fetched for one that no page tells."""

    required: bool = True
    follower: HashProgress | None = None


@dataclass(frozen=True, slots=True)
class Hashes:
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
    # map the names of the stack's files to hashes that other pages tell, or that ship with gpuenv
    facts = {
        file.filename: location.sha256 for file in plan.stack for location in file.places if location.sha256
    }
    return Hashes({**known_digests(), **facts}, places, hashing.required, fetcher)


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
    raise unlockable(
        package, tr("none of the indexes provides the hash of {file}", file=package.filename), NO_HASH
    )


def _digest(url: str) -> str:
    path, digest = local_path(url), sha256()
    try:
        with path.open("rb") as file:
            for chunk in iter(partial(file.read, _CHUNK), b""):
                digest.update(chunk)
    except OSError as error:
        raise UsageError(
            tr("{path} cannot be read: {reason}", path=path, reason=reason_of(error)), code="unreadable"
        ) from None
    return digest.hexdigest()


def unlockable(package: PlannedPackage, text: str, code: str) -> Unsatisfiable:
    """Return the refusal for a package that a lock can't name."""
    return Unsatisfiable(
        text,
        code=code,
        because=(Because(tr("it comes from {place}", place=package.index or package.url), package.name),),
        fixes=(
            Fix(tr("plan with an index that provides it, such as --mirror official, and without --offline")),
            *(
                (Fix(tr("or download it and compute the hash with `--fetch-hashes`")),)
                if code == NO_HASH
                else ()
            ),
        ),
    )
