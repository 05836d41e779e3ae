"""The search through the releases of projects that pin torch, from the newest on.

With torch chosen first, a resolver would go back to the first release that pins nothing, years ago. Of the
releases as few are read as do: a newer one does not require an older torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.knowledge.ecosystem import BoundProject
from gpuenv.knowledge.version_ranges import named_versions
from gpuenv.resolution.pinning.narrow import built_alike, narrowed_by
from gpuenv.resolution.pinning.releases import (
    FARTHEST_BACK,
    ReadRequires,
    Release,
    ReleaseChoice,
    of_the_stack,
    required_of,
    within_a_year,
)
from gpuenv.resolution.resolve import ResolutionInput, decide

_MOST_READ = 32  # releases of a project; each may be a request


class Narrowed(Struct, frozen=True):
    """A question that only admits the torch of some releases.

    `passed` are newer ones whose torch does not run here, `too_old` those chosen that are far older.
    """

    question: ResolutionInput
    chosen: tuple[ReleaseChoice, ...] = ()
    passed: tuple[ReleaseChoice, ...] = ()
    too_old: tuple[ReleaseChoice, ...] = ()


class ReleaseSearch:
    """Looks through the releases of one project, newest first, and reads no more of them than it must."""

    def __init__(self, project: BoundProject, releases: tuple[Release, ...], read: ReadRequires) -> None:
        self.project = project.name
        self._project = project
        self._releases = releases
        self._read = read
        self._choices: dict[int, ReleaseChoice | None] = {}

    def as_newest_asks(self, question: ResolutionInput) -> ResolutionInput:
        """Return the question as the newest release asks it, whether or not there is an answer."""
        asked = self.newest.requires if self.newest else ()
        torch = tuple(item for item in asked if canonicalize_name(item.name) == "torch")
        request = replace(question.request, requirements=(*question.request.requirements, *torch))
        return built_alike(question, self._project).with_request(request)

    def narrow(self, question: ResolutionInput) -> Iterator[Narrowed]:
        """Yield the question as each release narrows it, the newest first, that leaves something to choose.

        Of those that require the same of the torch stack the newest counts.
        """
        question = built_alike(question, self._project)
        best = next((solution.candidate.torch for solution in decide(question).choices), None)
        if best is None:
            return
        passed: tuple[ReleaseChoice, ...] = ()
        position = self._first_without(0, lambda choice: _is_too_new(choice, best))
        while position < len(self._releases) and (choice := self._choice(position)):
            narrowed = narrowed_by(choice, question)
            if narrowed is not None:
                too_old = (choice,) if self._is_too_old(choice) else ()
                newer = passed or self._newer_than(choice)
                yield Narrowed(self._bounded(narrowed, choice.release), (choice,), newer, too_old)
            elif choice.is_exact and _is_exact(question.request.specifier("torch")):
                return  # older releases require older torches still
            else:
                passed = (*passed, choice)
            position = self._first_without(position + 1, _requiring(choice))

    def _bounded(self, question: ResolutionInput, release: Release) -> ResolutionInput:
        """Return the question with what a resolver may choose of the project."""
        bounds = f"{self.project}>={self._oldest_beside(release).version},<={release.version}"
        return replace(question, bounds=(*question.bounds, bounds))

    def _oldest_beside(self, release: Release) -> Release:
        """Return how far back a resolver may go from a release, if others of the user's wishes need it."""
        older = self._releases[self._releases.index(release) :]
        return within_a_year(older)[-1] if release.uploaded else release

    def _newer_than(self, choice: ReleaseChoice) -> tuple[ReleaseChoice, ...]:
        """Return the newest release where the chosen one requires another torch."""
        newest = self.newest
        return () if newest is None or newest.requires == choice.requires else (newest,)

    def _is_too_old(self, choice: ReleaseChoice) -> bool:
        """Whether a release is more than a year older than the newest, or pins nothing as that does."""
        newest = self.newest
        if newest is None or newest is choice:
            return False
        if newest.release.uploaded and choice.release.uploaded:
            return newest.release.uploaded - choice.release.uploaded > FARTHEST_BACK
        return newest.is_exact and not choice.is_exact

    @property
    def newest(self) -> ReleaseChoice | None:
        """The newest release, if what it requires can be read."""
        return self._choice(0) if self._releases else None

    def _choice(self, position: int) -> ReleaseChoice | None:
        """Return what a release requires; None if that can't be read, or too many were."""
        if position not in self._choices and len(self._choices) < _MOST_READ:
            release = self._releases[position]
            requires = self._read(release.files[0])
            self._choices[position] = (
                None
                if requires is None
                else ReleaseChoice(self._project.name, release, of_the_stack(requires, self._project))
            )
        return self._choices.get(position)

    def _first_without(self, start: int, holds: Callable[[ReleaseChoice], bool]) -> int:
        """Return the first release from `start` on of which something does not hold, as of all older ones.

        Those in between are left out by halves; one that cannot be read ends the search.
        """
        below, step = start - 1, 1
        while self._holds(below + step, holds):
            below, step = below + step, step * 2
        above = min(below + step, len(self._releases))
        while above - below > 1:
            middle = (above + below) // 2
            below, above = (middle, above) if self._holds(middle, holds) else (below, middle)
        return above

    def _holds(self, position: int, holds: Callable[[ReleaseChoice], bool]) -> bool:
        choice = self._choice(position) if position < len(self._releases) else None
        return choice is not None and holds(choice)


def _is_too_new(choice: ReleaseChoice, best: Version) -> bool:
    """Whether a release requires a newer torch than the newest that runs here."""
    specifier = required_of(choice.requires, "torch")
    least = min(named_versions(specifier), default=best)
    return least > best and not specifier.contains(best, prereleases=True)


def _requiring(other: ReleaseChoice) -> Callable[[ReleaseChoice], bool]:
    return lambda choice: choice.requires == other.requires


class JointSearch(Struct, frozen=True):
    """The search through the releases of several projects; those of which none can be read are left out."""

    question: ResolutionInput
    searches: tuple[ReleaseSearch, ...] = ()

    def __iter__(self) -> Iterator[Narrowed]:
        """Yield the questions that releases of all projects narrow, the first project's newest first."""
        known = tuple(search for search in self.searches if search.newest is not None)
        return _narrowed_further(Narrowed(self.question), known)

    def without_pin(self) -> Narrowed | None:
        """Return what there would be if torch had not been pinned."""
        request = self.question.request.with_requirement("torch")
        free = replace(self, question=self.question.with_request(request))
        return next(iter(free), None) if self.question.request.specifier("torch") else None


def _is_exact(specifier: SpecifierSet) -> bool:
    return any(item.operator in ("==", "===") and not item.version.endswith("*") for item in specifier)


def _narrowed_further(narrowed: Narrowed, searches: tuple[ReleaseSearch, ...]) -> Iterator[Narrowed]:
    if not searches:
        yield narrowed
        return
    for further in searches[0].narrow(narrowed.question):
        both = Narrowed(
            further.question,
            (*narrowed.chosen, *further.chosen),
            (*narrowed.passed, *further.passed),
            (*narrowed.too_old, *further.too_old),
        )
        yield from _narrowed_further(both, searches[1:])
