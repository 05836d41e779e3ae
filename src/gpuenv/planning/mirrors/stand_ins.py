"""The mirrors that are used where an official index does not answer."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import NormalizedName

from gpuenv.http import FetchLimits, HttpClient
from gpuenv.i18n.messages import tr
from gpuenv.indexes.listings import read_listings
from gpuenv.model.index import IndexSource, Listing
from gpuenv.planning.mirrors.choose import Chosen
from gpuenv.planning.mirrors.sources import SourceContext, pypi_source, torch_sources

_UNASKED = FetchLimits(connect_s=2.0, read_s=4.0, whole_s=8.0)  # a short wait for what was not requested


class SourceReader(Struct, frozen=True):
    """Reads sources for the projects of a plan."""

    projects: tuple[NormalizedName, ...]
    client: HttpClient

    def read(self, sources: tuple[IndexSource, ...]) -> tuple[Listing, ...]:
        """Return what each source lists of the projects."""
        return read_listings(sources, self.projects, self.client)


class FallbackListings(Struct, frozen=True):
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
    from gpuenv.planning.mirrors.rank import ranked_mirrors  # noqa: PLC0415 - where no official index answers

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


def in_order_of(names: tuple[str, ...], listings: tuple[Listing, ...]) -> tuple[Listing, ...]:
    """Return the listings in the order of the mirrors that they are of."""
    places = {name: position for position, name in enumerate(names)}
    return tuple(sorted(listings, key=lambda listing: places.get(listing.source.name or "", len(places))))
