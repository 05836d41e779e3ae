"""Reads the pages of projects whose wheels are made for one torch, as far as the choice depends on them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from gpuenv.http import HttpClient
from gpuenv.indexes.listings import read_listings
from gpuenv.model.index import IndexConfiguration, IndexSource, Listing
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.torch_bound_pages import bound_projects, loosened, pages_to_read


def with_bound_pages(
    question: ResolutionInput,
    configuration: IndexConfiguration,
    options: PlanOptions,
    environ: Mapping[str, str],
) -> ResolutionInput:
    """Return the question with the files of the requested projects that are bound to torch.

    The user's wheelhouses count, and the projects' own pages, newest torch first, until all are served. Where
    nothing serves, further pages are read too, so that a fix can be suggested.
    """
    names = bound_projects(question.request, question.target, question.pythons, question.knowledge)
    if not names:
        return question
    question = question.with_request(replace(question.request, extensions=names))
    with HttpClient(environ, access=configuration.access, offline=options.offline) as client:
        reader = PageReader(tuple(canonicalize_name(name) for name in names), client)
        question = question.with_listings(reader.read(configuration.find_links))
        question = reader.read_on(question)
        if decide(question).choices:
            return question
        for other in loosened(question):
            more = reader.found_for(replace(other, listings=question.listings, available=question.available))
            question = question.with_listings(more)
    return question


class PageReader:
    """Reads pages for some projects."""

    def __init__(self, projects: tuple[NormalizedName, ...], client: HttpClient) -> None:
        self._projects = projects
        self._client = client

    def read(self, sources: tuple[IndexSource, ...]) -> tuple[Listing, ...]:
        """What these sources list of the projects."""
        return read_listings(sources, self._projects, self._client) if sources else ()

    def found_for(self, question: ResolutionInput) -> tuple[Listing, ...]:
        """Return the pages that another question takes and that were not read for this one."""
        return self.read_on(question).listings[len(question.listings) :]

    def read_on(self, question: ResolutionInput) -> ResolutionInput:
        """Read page after page until a choice is served, or none is left."""
        while pages := pages_to_read(question):
            question = question.with_listings(_of_their_sets(self.read(pages), question))
        return question


def _of_their_sets(listings: tuple[Listing, ...], question: ResolutionInput) -> tuple[Listing, ...]:
    """Leave out what a page does not hold anyway: all projects are looked for on all pages of one round."""
    ecosystem = question.knowledge.ecosystem
    sets = {name: wheels.name for name in question.request.extensions if (wheels := ecosystem.set_of(name))}
    return tuple(listing for listing in listings if sets.get(listing.project) == listing.source.name)
