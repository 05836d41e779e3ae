"""Which pages may list wheels that are made for one torch: those of the best builds first, few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.knowledge.ecosystem import KnownWheels, WheelSet, minor_of
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import IndexSource
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.request import Request, admits
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules.python import full_version
from gpuenv.resolution.rules.torch_bound import ORIGIN, fits_cuda, page_for, unfit
from gpuenv.resolution.target import Target

_MOST_RELEASES = 2  # of a project whose pages go by its releases: the newest may have no files yet


def bound_projects(
    request: Request, target: Target, pythons: tuple[PythonOffer, ...], knowledge: Knowledge
) -> tuple[str, ...]:
    """Return the projects asked for of which ecosystem.json knows what a GPU or torch must have.

    One that is asked for by address is decided, and one for some Pythons alone is left to the resolver.
    """
    names = (
        canonicalize_name(item.name)
        for item in request.others
        if item.url is None and always_counts(item, target, pythons)
    )
    return tuple(dict.fromkeys(name for name in names if _is_bound(name, knowledge)))


def _is_bound(name: str, knowledge: Knowledge) -> bool:
    project = knowledge.ecosystem.project(name)
    return project is not None and (project.set is not None or project.least is not None)


def always_counts(item: Requirement, target: Target, pythons: tuple[PythonOffer, ...]) -> bool:
    """Whether a requirement counts with each of the Pythons."""
    if item.marker is None:
        return True
    versions = (str(full_version(offer)) for offer in pythons)
    return all(item.marker.evaluate(marker_environment(target.platform, version)) for version in versions)


def pages_to_read(question: ResolutionInput) -> tuple[IndexSource, ...]:
    """Return the pages for the newest torch that may have wheels of all extensions, and is not yet read.

    Nothing is returned where a choice with all of them stands before it, no page is left, or one of them does
    not run here anyway.
    """
    if unfit(question.request, question.target, question.knowledge):
        return ()
    read = {listing.source.url for listing in question.listings}
    unreadable = {
        listing.source.name
        for listing in question.listings
        if listing.source.origin == ORIGIN and listing.problem
    }
    best = next((minor_of(solution.candidate.torch) for solution in decide(question).choices), None)
    for torch, solutions in groupby(
        decide(unbound(question)).choices, key=lambda solution: minor_of(solution.candidate.torch)
    ):
        fields = {
            source: None for solution in solutions for source in _pages_of(solution.candidate, question)
        }
        unread = tuple(
            source for source in fields if source.url not in read and source.name not in unreadable
        )
        if unread or torch == best:
            return unread
    return ()


def unbound(question: ResolutionInput) -> ResolutionInput:
    """Return the question without the extensions."""
    request = question.request
    for name in request.extensions:
        request = request.without_project(name)
    return question.with_request(request)


def loosened(question: ResolutionInput) -> Iterator[ResolutionInput]:
    """Yield the questions that fixes ask: pins given up, a newer driver, each kind of GPU alone."""
    target = question.target
    yield _freed(question)
    yield question.with_target(target.with_driver_assumed())
    kinds = {gpu.capability: gpu for gpu in target.gpus}
    if len(kinds) > 1:
        for gpu in kinds.values():
            yield question.with_target(target.only((gpu,)))


def _freed(question: ResolutionInput) -> ResolutionInput:
    request = replace(question.request, variant=None, python=None)
    for name in ("torch", *request.companions, *request.requested_extensions):
        request = request.with_requirement(name)
    return question.with_request(request)


def _pages_of(candidate: Candidate, question: ResolutionInput) -> tuple[IndexSource, ...]:
    """Return the pages that may list wheels for a build; none where one of the projects can have none."""
    ecosystem = question.knowledge.ecosystem
    fields: dict[IndexSource, None] = {}
    for name in question.request.requested_extensions:
        wheels = ecosystem.set_of(name)
        pages = _pages_of_set(wheels, name, candidate, question) if wheels else ()
        if wheels and not pages:
            return ()
        fields |= {_source(wheels, page): None for page in pages if wheels}
    return tuple(fields)


def _pages_of_set(
    wheels: WheelSet, name: str, candidate: Candidate, question: ResolutionInput
) -> tuple[str, ...]:
    known = tuple(
        project
        for project in question.knowledge.ecosystem.wheels(wheels.name, question.target.platform)
        if is_for(project, wheels, candidate)
    )
    if wheels.by_version:
        wanted = question.request.specifier(name)
        versions = sorted(
            {version for project in known for version in project.versions if admits(wanted, version)}
        )
        return tuple(
            page_for(wheels, candidate, str(version)) for version in versions[: -_MOST_RELEASES - 1 : -1]
        )
    newest = question.knowledge.ecosystem.newest_torch(wheels.name)
    may_be_new = not wheels.ended and minor_of(candidate.torch) > newest
    return (page_for(wheels, candidate),) if known or may_be_new else ()


def is_for(known: KnownWheels, wheels: WheelSet, candidate: Candidate) -> bool:
    """Whether wheels that are known of are for a build of torch."""
    loose = wheels.match == "major" and known.by is None
    return known.torch == minor_of(candidate.torch) and fits_cuda(
        known.variant, candidate.variant, loose=loose
    )


def _source(wheels: WheelSet, page: str) -> IndexSource:
    return IndexSource(
        "flat", page, ORIGIN, wheels.name, missing_status=wheels.missing_status, may_be_missing=True
    )
