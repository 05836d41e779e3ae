"""Whether numpy is added where only torch was requested."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.http import HttpClient
from gpuenv.i18n.messages import tr
from gpuenv.indexes.listings import read_listings
from gpuenv.model.index import IndexConfiguration, Listing
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.project_pages import Pages
from gpuenv.resolution.collect import collect_companions
from gpuenv.resolution.constraints import constraints_of
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import NUMPY
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import python
from gpuenv.resolution.rules.phrases import join_pages

_PROJECT = canonicalize_name(NUMPY)


def with_numpy(
    question: ResolutionInput,
    solution: Solution,
    configuration: IndexConfiguration,
    options: PlanOptions,
    environ: Mapping[str, str],
) -> ResolutionInput:
    """Return the question with numpy requested if it is available, else with why it is left out.

    uv need not resolve it: it forces no other torch. A plan that is only shown trusts an index of PyPI's kind
    that answers to have it, as every torchvision needs it; its page is long.
    """
    request = question.request
    if NUMPY not in request.optional:
        return question
    inputs = question.with_request(replace(request, requirements=(*request.requirements, Requirement(NUMPY))))
    listings = _in_wheelhouses(configuration, environ)
    if _serves(listings, inputs, solution):
        return inputs
    if options.only_shown and _is_trusted(question, solution, configuration):
        return inputs
    if not configuration.no_index:
        read = Pages(configuration, environ, offline=request.offline).listings(NUMPY)
        listings += tuple(listing for listing in read if not (request.offline and listing.problem))
        if _serves(listings, inputs, solution):
            return inputs
    return replace(question, no_numpy=_why_not(listings, solution))


def _in_wheelhouses(configuration: IndexConfiguration, environ: Mapping[str, str]) -> tuple[Listing, ...]:
    folders = tuple(source for source in configuration.find_links if source.kind == "directory")
    if not folders:
        return ()
    with HttpClient(environ, offline=True) as client:
        return read_listings(folders, (_PROJECT,), client)


def _is_trusted(question: ResolutionInput, solution: Solution, configuration: IndexConfiguration) -> bool:
    """Whether numpy may be taken to be on the index that everything else comes from."""
    from_folder = solution.torch.listing.source.kind == "directory"
    if configuration.no_index or (question.request.offline and from_folder):
        return False
    index = configuration.index_url
    own = [listing for listing in question.listings if index is None or listing.source.url == index.url]
    general = [listing for listing in own if listing.source.kind in ("pypi", "snapshot")]
    return not general or not all(listing.problem for listing in general)


def _serves(listings: tuple[Listing, ...], question: ResolutionInput, solution: Solution) -> bool:
    """Whether one of the files fits the machines, the Python, and what is known to go wrong."""
    wanted = SpecifierSet()
    for text, _ in constraints_of(question, solution):
        requirement = Requirement(text)
        if requirement.name == NUMPY:
            wanted &= requirement.specifier
    available = collect_companions(listings, question.target, (NUMPY,))
    return any(
        wanted.contains(item.release) and python.runs_on(item.file, solution.python)
        for item in available.all_of(NUMPY)
    )


def _why_not(listings: tuple[Listing, ...], solution: Solution) -> str:
    down = next((listing for listing in listings if listing.problem), None)
    if down is not None:
        return tr("{page} could not be read ({problem})", page=down.page, problem=down.problem)
    read = join_pages(tuple(listing.page for listing in listings))
    if not read:
        return tr("none of the indexes that were read may have numpy")
    return tr("no wheel of numpy for Python {python} on {page}", python=solution.python.short, page=read)
