"""Reads what the releases of projects that pin torch require, as far as the choice of torch depends on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.http import HttpClient, HttpProblem, fetch_page
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.urls import is_remote
from gpuenv.model.index import IndexConfiguration, Listing
from gpuenv.model.wheel import WheelFile
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.project_pages import Pages
from gpuenv.resolution.pinning.releases import pinning_projects, releases_of
from gpuenv.resolution.pinning.search import JointSearch, ReleaseSearch
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.wheels.metadata import WheelMetadata, parse_metadata, requirements_on


@contextmanager
def narrowed_by_releases(
    question: ResolutionInput,
    configuration: IndexConfiguration,
    options: PlanOptions,
    environ: Mapping[str, str],
) -> Iterator[JointSearch]:
    """Give the search through the releases of the projects asked for that pin torch.

    They are read from the index that everything but torch comes from, and from wheelhouses, when they are
    come to. Where no such project is asked for, the search yields the question itself.
    """
    projects = pinning_projects(question.request, question.target, question.pythons, question.knowledge)
    if not projects:
        yield JointSearch(question)
        return
    pages = Pages(configuration, environ, offline=options.offline)
    with HttpClient(environ, access=configuration.access, offline=options.offline) as client:
        reader = _Reader(client, question)
        searches = []
        for project in projects:
            listings = _serving(project.through or project.name, configuration, pages, client)
            releases = releases_of(listings, question.request.specifier(project.name), question)
            searches.append(ReleaseSearch(project, releases, reader.requires))
        yield JointSearch(question, tuple(searches))


def _serving(
    project: str, configuration: IndexConfiguration, pages: Pages, client: HttpClient
) -> tuple[Listing, ...]:
    """Return the wheelhouses, and the first index that lists the project: an installer asks no other."""
    name = canonicalize_name(project)
    folders = read_listings(configuration.find_links, (name,), client) if configuration.find_links else ()
    listed = () if configuration.no_index else pages.listings(project)
    extra = {source.url for source in configuration.extra_index_urls}
    ordered = sorted(listed, key=lambda listing: listing.source.url not in extra)
    return (*folders, *[listing for listing in ordered if listing.files][:1])


class _Reader:
    """Reads what wheels require on the machines in question."""

    def __init__(self, client: HttpClient, question: ResolutionInput) -> None:
        self._client = client
        self._platform = question.target.platform
        self._pythons = tuple(dict.fromkeys(offer.short for offer in question.pythons))

    def requires(self, file: WheelFile) -> tuple[Requirement, ...] | None:
        """Return what a wheel requires here; None where it can't be read."""
        metadata = self._metadata(file)
        if metadata is None:
            return None
        return tuple(requirements_on(metadata, self._platform, pythons=self._pythons))

    def _metadata(self, file: WheelFile) -> WheelMetadata | None:
        """Read the METADATA beside a wheel (PEP 658), else in it, without fetching the rest."""
        if not (file.has_metadata and is_remote(file.url)):
            from gpuenv.planning.releases.inside import metadata_inside  # noqa: PLC0415 - seldom needed

            return metadata_inside(file, self._client)
        try:
            return parse_metadata(fetch_page(self._client, f"{file.url}.metadata", "*/*").text)
        except (HttpProblem, ValueError):
            return None
