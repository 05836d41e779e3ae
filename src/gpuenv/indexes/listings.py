"""Read the pages of many indexes concurrently; one that is down does not stop the others."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import NormalizedName

from gpuenv.http import HttpClient, HttpProblem, Pending
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.index_page import INDEX_PAGE, IndexPage
from gpuenv.indexes.urls import PAGE_ENDINGS, project_page
from gpuenv.indexes.wheel_files import is_variant
from gpuenv.indexes.wheelhouse import read_wheelhouse
from gpuenv.model.index import IndexSource, Listing

# as pip asks: JSON tells sizes, HTML is what every index has
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.1, text/html;q=0.01"


class _Request(Struct, frozen=True):
    """A page that was requested, and the projects that it should list."""

    source: IndexSource
    projects: tuple[NormalizedName, ...]
    address: str
    page: Pending[IndexPage]


class _Pages:
    """The pages of one call, each requested once, whoever needs it."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._begun: dict[str, Pending[IndexPage]] = {}

    def begin(self, address: str, source: IndexSource) -> Pending[IndexPage]:
        if address not in self._begun:
            self._begun[address] = _begin(self._client, address, source)
        return self._begun[address]


class _Answer(Struct, frozen=True):
    """The listings of a page; `absent` if it does not exist or lists none of the projects."""

    listings: tuple[Listing, ...]
    absent: bool = False


def read_listings(
    sources: tuple[IndexSource, ...], projects: tuple[NormalizedName, ...], client: HttpClient
) -> tuple[Listing, ...]:
    """Return a listing for each source and project in order; failures are their `problem`."""
    pages = _Pages(client)
    queries = {source: _ask(source, projects, pages) for source in dict.fromkeys(sources)}
    answers = {
        source: (_Answer(read_wheelhouse(source, projects, client.cache)),)
        if source.kind == "directory"
        else tuple(_answer(request) for request in requests)
        for source, requests in queries.items()
    }
    # guessed indexes without a page for any of the projects
    absent = [
        source for source in queries if source.maybe_flat and all(item.absent for item in answers[source])
    ]
    again = {source: _ask_flat(source, projects, pages) for source in absent}
    for source, request in again.items():
        answer = _answer(request)
        answers[source] = answers[source] if answer.absent else (answer,)
    return tuple(listing for given in answers.values() for answer in given for listing in answer.listings)


def read_names(
    sources: tuple[IndexSource, ...], projects: tuple[NormalizedName, ...], client: HttpClient
) -> frozenset[tuple[str, NormalizedName]]:
    """Return which index, by its URL, has which project; what cannot be read counts as absent."""
    pages = {
        (source.url, project): _begin(client, project_page(source.url, project), source)
        for source in sources
        for project in projects
    }
    return frozenset(pair for pair, page in pages.items() if _has_links(page))


def _begin(client: HttpClient, address: str, source: IndexSource) -> Pending[IndexPage]:
    return client.begin(address, _ACCEPT, INDEX_PAGE, public=source.public)


def _has_links(page: Pending[IndexPage]) -> bool:
    try:
        found = page.result()
    except (HttpProblem, ValueError):
        return False
    return found.is_index and found.lists_files


def flat_page(url: str) -> str:
    """Return the URL of a flat page; that of a folder ends in a slash, so that relative links resolve."""
    parts = urlsplit(url)
    is_file = parts.path.lower().endswith(PAGE_ENDINGS)
    return url if is_file or parts.query or url.endswith("/") else f"{url}/"


def _ask(source: IndexSource, projects: tuple[NormalizedName, ...], pages: _Pages) -> tuple[_Request, ...]:
    if source.kind in ("directory", "snapshot"):
        return ()
    if source.kind == "flat":
        return (_ask_flat(source, projects, pages),)
    addresses = [(project, project_page(source.url, project)) for project in projects]
    return tuple(
        _Request(source, (project,), address, pages.begin(address, source)) for project, address in addresses
    )


def _ask_flat(source: IndexSource, projects: tuple[NormalizedName, ...], pages: _Pages) -> _Request:
    flat = replace(source, kind="flat", maybe_flat=False)
    address = source.url if source.may_be_missing else flat_page(source.url)
    return _Request(flat, projects, address, pages.begin(address, source))


def _answer(request: _Request) -> _Answer:
    try:
        page = request.page.result()
    except HttpProblem as problem:
        missing = problem.missing or (
            problem.status in request.source.missing_status and not _is_whole(request)
        )
        absent = missing and (request.source.kind != "flat" or request.source.may_be_missing)
        reason = None if absent else problem.reason
        return _Answer(_empty(request, reason), absent=missing)
    except ValueError as error:
        reason = tr("returned a page that is not an index: {error}", error=reason_of(error))
        return _Answer(_empty(request, reason))
    if not page.is_index:
        return _Answer(_empty(request, tr("returned a page that is not an index")), absent=True)
    listings = tuple(_listing(request, project, page) for project in request.projects)
    return _Answer(listings, absent=not any(listing.files or listing.unparsed for listing in listings))


def _is_whole(request: _Request) -> bool:
    """Whether this is the page of all torches on the PyTorch index: it exists, so that 403 is a refusal."""
    kind, url = request.source.kind, request.source.url
    return kind == "pytorch" and "torch" in request.projects and not is_variant(url.rpartition("/")[2])


def _listing(request: _Request, project: NormalizedName, page: IndexPage) -> Listing:
    garbled = page.garbled if project == request.projects[0] else ()
    unparsed = (*page.unparsed_of(project), *garbled)
    read_at = page.url if page.url != request.address else None
    files = page.files_of(project)
    return Listing(request.source, project, files, request.address, unparsed=unparsed, read_at=read_at)


def _empty(request: _Request, problem: str | None) -> tuple[Listing, ...]:
    return tuple(
        Listing(request.source, project, (), request.address, problem=problem) for project in request.projects
    )
