"""From a project to the nearest set that works here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import Version

from gpuenv.adapt.model import Project
from gpuenv.adapt.nearest.families import without_families
from gpuenv.adapt.nearest.known_bad_dependencies import ConflictingPin, Settled, with_others_free
from gpuenv.adapt.nearest.ranking import Nearness
from gpuenv.knowledge.built_releases import BuiltReleases
from gpuenv.model.index import Listing
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.report.refusal import refuse
from gpuenv.resolution.resolve import ResolutionInput, decide

_MOST_GIVEN_UP = 2  # together: of several that do not go along each is found alone


class Nearest(Struct, frozen=True):
    """The sets that work here, the nearest first, of a question without the projects that nothing serves.

    `original` is the question before those were given up.
    """

    original: ResolutionInput
    question: ResolutionInput
    decision: Decision
    settled: tuple[Settled, ...]

    @property
    def choices(self) -> tuple[Solution, ...]:
        """The choices, the nearest first, each with its nearest companions."""
        return tuple(settled.solution for settled in self.settled)

    @property
    def given_up(self) -> tuple[str, ...]:
        """The projects that go with no torch that runs here."""
        kept = _projects(self.question)
        return tuple(project for project in _projects(self.original) if project not in kept)

    @property
    def unread(self) -> tuple[Listing, ...]:
        """The pages of given up projects that could not be read: they may go with it all the same."""
        down = self.original.available.down
        return tuple(down[project] for project in self.given_up if project in down)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Those given up of which no page was read that could list them: they may be there, or be built."""
        read = {listing.project for listing in self.original.listings if not listing.problem}
        bound = self.original.request.extensions
        return tuple(item for item in self.given_up if item in bound and item not in read)

    def question_for(self, solution: Solution) -> ResolutionInput:
        """Return the question that a choice answers: with what had to change of the other packages."""
        return self.question.with_request(self._settled(solution).request)

    def moved(self, solution: Solution) -> tuple[ConflictingPin, ...]:
        """Return what had to change of the other packages for a choice."""
        return self._settled(solution).moved

    def _settled(self, solution: Solution) -> Settled:
        return next(settled for settled in self.settled if settled.solution is solution)


def find_nearest(
    question: ResolutionInput,
    project: Project,
    releases: Iterable[Version] = (),
    built: BuiltReleases | None = None,
) -> Nearest:
    """Return the sets that work here, the nearest to the project first.

    The question is that of `request_of`, with the pages of the projects bound to torch; `releases` of torch
    count beside its own; `built` tells of other packages where no index does. A companion or bound project is
    given up only where no torch that runs here has it. Raises Unsatisfiable or Unreachable.
    """
    known = tuple(releases)
    for tried in _fewer_and_fewer(question):
        decision = decide(_free(tried))
        settled = Nearness(tried, project, known, built).ranked(decision.choices)
        if settled:
            solutions = tuple(item.solution for item in settled)
            return Nearest(question, tried, Decision(solutions, decision.rejected), settled)
    raise refuse(question, decide(_free(question)))


def nearest_torches(question: ResolutionInput, project: Project) -> Iterator[Version]:
    """Yield the releases of torch that `find_nearest` would choose from, the nearest first, each when asked.

    Raises Unsatisfiable or Unreachable where there is none.
    """
    for tried in _fewer_and_fewer(question):
        torches = Nearness(tried, project).torches(decide(_free(tried)).choices)
        first = next(torches, None)
        if first is not None:
            return chain((first,), torches)
    raise refuse(question, decide(_free(question)))


def _free(question: ResolutionInput) -> ResolutionInput:
    return question.with_request(without_families(with_others_free(question.request), question))


def _projects(question: ResolutionInput) -> tuple[str, ...]:
    return (*question.request.companions, *question.request.requested_extensions)


def _fewer_and_fewer(question: ResolutionInput) -> Iterator[ResolutionInput]:
    """Yield the question, then without each project that goes with nothing here, then without more."""
    yield question
    projects = _projects(question)
    alone = tuple(project for project in projects if not _is_served(question, project))
    if alone:
        yield _without(question, alone)
    others = [project for project in projects if project not in alone]
    for count in range(1, min(len(others), _MOST_GIVEN_UP) + 1):
        for more in combinations(reversed(others), count):
            yield _without(question, (*alone, *more))
    yield _without(question, projects)


def _is_served(question: ResolutionInput, project: str) -> bool:
    rest = tuple(other for other in _projects(question) if other != project)
    return bool(decide(_free(_without(question, rest))).choices)


def _without(question: ResolutionInput, projects: tuple[str, ...]) -> ResolutionInput:
    request = question.request
    for project in projects:
        request = request.without_project(project)
    return replace(question, request=request)
