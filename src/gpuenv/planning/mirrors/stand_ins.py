"""The mirrors that are used where an official index does not answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from packaging.utils import NormalizedName

from gpuenv.http import FetchLimits, HttpClient
from gpuenv.i18n.messages import tr
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.mirrors.measurements import Speed, address_of, read_memory, remember
from gpuenv.indexes.mirrors.notes import hosts_elsewhere
from gpuenv.indexes.mirrors.probe import ProbeLimits, measure_files
from gpuenv.indexes.mirrors.wanted_files import newest_file
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.planning.mirrors.choose import Chosen
from gpuenv.planning.mirrors.sources import SourceContext, pypi_source, torch_sources

_UNASKED = FetchLimits(connect_s=2.0, read_s=4.0, whole_s=8.0)  # a short wait for what was not requested


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads sources for the projects of a plan."""

    projects: tuple[NormalizedName, ...]
    client: HttpClient

    def read(self, sources: tuple[IndexSource, ...]) -> tuple[Listing, ...]:
        """Return what each source lists of the projects."""
        return read_listings(sources, self.projects, self.client)


@dataclass(frozen=True, slots=True)
class FallbackListings:
    """What is known after other mirrors were read; `silent` are their names if none of them answered."""

    chosen: Chosen
    listings: tuple[Listing, ...]
    answered: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def read_fallback_mirrors(
    chosen: Chosen, listings: tuple[Listing, ...], context: SourceContext, reader: SourceReader
) -> FallbackListings:
    """Turn to further mirrors where the torch index or the index for the rest does not answer.

    All are read, so that the best torch of any of them is known; those that list it stand in the order of
    their speed. What did not answer is left out.
    """
    torch, general = _to_read(chosen, listings, context)
    if not torch and not general:
        return FallbackListings(chosen, listings)
    if not chosen.unasked:
        return _read_fallbacks(chosen, listings, (torch, general), context, reader)
    access = context.configuration.access
    with HttpClient(context.environ, access=access, limits=_UNASKED) as client:
        return _read_fallbacks(
            chosen, listings, (torch, general), context, SourceReader(reader.projects, client)
        )


def _read_fallbacks(
    chosen: Chosen,
    listings: tuple[Listing, ...],
    parts: tuple[tuple[IndexSource, ...], tuple[IndexSource, ...]],
    context: SourceContext,
    reader: SourceReader,
) -> FallbackListings:
    torch, general = parts
    read = reader.read((*torch, *general))
    alive = {listing.source.name for listing in read if not listing.problem}
    if not alive:
        return FallbackListings(chosen, listings, silent=tuple(mirror.name for mirror in chosen.later))
    read = tuple(listing for listing in read if listing.source.name in alive)
    mirrors = [mirror for mirror in chosen.later if mirror.name in alive]
    ranked = ranked_mirrors(mirrors, read, reader.client, context.environ)
    usable = [source for source in general if source.name in alive]
    usable.sort(key=lambda source: ranked.index(source.name) if source.name in ranked else len(ranked))
    usable.sort(key=lambda source: any(source.name == index_source.name for index_source in torch))
    whole = replace(chosen, general=(*chosen.general, *usable))
    return FallbackListings(whole, (*listings, *in_order_of(ranked, read)), answered=ranked)


def _to_read(
    chosen: Chosen, listings: tuple[Listing, ...], context: SourceContext
) -> tuple[tuple[IndexSource, ...], tuple[IndexSource, ...]]:
    """Return the torch parts and the copies of PyPI of the mirrors, as far as they are needed."""
    down = {listing.source.url for listing in listings if listing.problem}
    torch_down = any(source.kind == "pytorch" and source.url in down for source in chosen.sources)
    rest_down = not chosen.general or all(source.url in down for source in chosen.general)
    origin = "matrix mirrors.json" if chosen.unasked else tr("option {option}", option="--mirror auto")
    torch: list[IndexSource] = []
    general: list[IndexSource] = []
    for mirror in chosen.later:
        pypi = pypi_source(mirror, context, origin) if rest_down else None
        general += [pypi] if pypi else []
        torch += torch_sources(mirror, context, origin) if torch_down else ()
    return tuple(torch), tuple(general)


_QUICK = ProbeLimits(whole_s=5.0, sample_bytes=1 << 20, sample_s=1.5)


def ranked_mirrors(
    mirrors: Sequence[Mirror], listings: tuple[Listing, ...], client: HttpClient, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the names of the mirrors, those whose wheels come fastest first.

    `listings` are those that were read of them: the newest torch on each is what it is measured by. What was
    measured today is not measured again. Nothing is measured offline.
    """
    memory = read_memory(environ)
    speeds = {mirror.name: memory.speed_of(mirror) for mirror in mirrors}
    unknown = [mirror for mirror in mirrors if speeds[mirror.name] is None]
    if not client.offline:
        measured = _measure(unknown, listings, client)
        remember(environ, measured)
        speeds |= {speed.name: speed.bytes_per_s for speed in measured}
    return tuple(sorted(speeds, key=lambda name: -(speeds[name] or 0)))


def _measure(
    mirrors: Sequence[Mirror], listings: tuple[Listing, ...], client: HttpClient
) -> tuple[Speed, ...]:
    results = [(mirror, _url(mirror, listings)) for mirror in mirrors]
    requested = [(mirror, url) for mirror, url in results if url]
    samples = measure_files([url for _, url in requested], client, _QUICK) if requested else ()
    now = time.time()
    return tuple(
        Speed(mirror.name, address_of(mirror), now, sample.bytes_per_s if sample else 0)
        for (mirror, _), sample in zip(requested, samples, strict=True)
    )


def _url(mirror: Mirror, listings: tuple[Listing, ...]) -> str | None:
    """The address of a wheel on a mirror itself, of its torch part where that has any."""
    own = [
        listing for listing in listings if listing.source.name == mirror.name and not hosts_elsewhere(listing)
    ]
    torch = [listing for listing in own if listing.source.kind != "pypi"]
    file = newest_file(torch) or newest_file(own)
    return file.url if file else None


def in_order_of(names: tuple[str, ...], listings: tuple[Listing, ...]) -> tuple[Listing, ...]:
    """Return the listings in the order of the mirrors that they are of."""
    places = {name: position for position, name in enumerate(names)}
    return tuple(sorted(listings, key=lambda listing: places.get(listing.source.name or "", len(places))))
