"""The least change of conda's packages with which a solver finds a set."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct, field
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.model.match_spec import MatchSpec, as_specifier, parse_match_spec
from gpuenv.resolution.release_distance import distance

_WORD = re.compile(r"[A-Za-z0-9_][\w.-]*")
_MOST_ROUNDS = 12  # of loosening what a conflict names; then all gives way


class SolverResult(Struct, frozen=True):
    """What a solver found: the version of each package."""

    versions: Mapping[str, str]


class SolverConflict(Struct, frozen=True):
    """Why a solver found nothing, in its words."""

    message: str


Solve = Callable[[tuple[str, ...]], SolverResult | SolverConflict]  # of all specs


class SpecMove(Struct, frozen=True):
    """A package that is asked for in another release than before, and what stood in the way."""

    name: str
    version: str
    because: SolverConflict | None


class SpecMoves(Struct, frozen=True):
    """What has to move so that the rest can stay."""

    moved: tuple[SpecMove, ...]


def least_moves(
    fixed: tuple[str, ...],
    asked: tuple[str, ...],
    solve: Solve,
    releases: Callable[[str], tuple[Version, ...]],
    may_go_on: Callable[[], bool] = lambda: True,
) -> SpecMoves | SolverConflict:
    """Return what must move of the specs asked for beside the fixed ones; SolverConflict where nothing helps.

    What a conflict names gives way until there is a solution. Then each goes back as near to what was asked
    for as the solver lets it, counted in `releases`, oldest first. Once `may_go_on` says no, what is not
    tried stays where the last solution has it.
    """
    return _Search(fixed, tuple(dict.fromkeys(asked)), solve, releases, may_go_on).run()


class _Search(Struct):
    fixed: tuple[str, ...]
    asked: tuple[str, ...]
    solve: Solve
    releases: Callable[[str], tuple[Version, ...]]
    may_go_on: Callable[[], bool]
    loose: dict[str, str] = field(default_factory=dict)  # by the spec asked for: what stands in its place
    reasons: dict[str, SolverConflict] = field(default_factory=dict)

    def run(self) -> SpecMoves | SolverConflict:
        outcome = self._loosened()
        if isinstance(outcome, SolverConflict):
            return outcome
        versions = outcome.versions
        for text in list(self.loose):
            versions = self._put_back(text, versions)
        moved = (
            SpecMove(name, versions[name], self.reasons.get(text))
            for text in self.loose
            if (name := _name(text)) in versions
        )
        return SpecMoves(tuple(moved))

    def _ask(self) -> SolverResult | SolverConflict:
        return self.solve((*self.fixed, *(self.loose.get(text, text) for text in self.asked)))

    def _loosened(self) -> SolverResult | SolverConflict:
        """Loosen what conflicts name; the first conflict is returned where nothing is left to loosen."""
        first: SolverConflict | None = None
        for turn in range(_MOST_ROUNDS + 1):
            outcome = self._ask()
            if isinstance(outcome, SolverResult):
                return outcome
            first = first or outcome
            bound = [text for text in self.asked if text not in self.loose and text != _name(text)]
            words = {word.rstrip(".-") for word in _WORD.findall(outcome.message)}
            named = [text for text in bound if _name(text) in words]
            last = turn == _MOST_ROUNDS - 1 or not self.may_go_on()
            for text in named if named and not last else bound:
                self.loose[text] = _name(text)
                self.reasons[text] = outcome
            if not bound:
                return outcome
        return first or SolverConflict("")

    def _put_back(self, text: str, versions: Mapping[str, str]) -> Mapping[str, str]:
        """Bring one package as near as can be to what was asked for; returns the solution with it."""
        name = _name(text)
        if _admits(text, versions.get(name)):
            del self.loose[text]
            if isinstance(self._checked_builds(text), SolverConflict):
                self.loose[text] = f"{name} =={versions[name]}"
            return versions
        nearer = self._try(text, text) if self.may_go_on() else None
        if nearer is not None:
            del self.loose[text]
            return nearer.versions
        versions = self._nearest(text, versions)
        if name in versions:
            self.loose[text] = f"{name} =={versions[name]}"
        return versions

    def _checked_builds(self, text: str) -> SolverResult | SolverConflict:
        """Ask once more where a build is named, of which a version tells nothing."""
        return self._ask() if parse_match_spec(text).build else SolverResult({})

    def _nearest(self, text: str, versions: Mapping[str, str]) -> Mapping[str, str]:
        """Halve the distance, in releases, in which a solution is looked for."""
        name = _name(text)
        known = self.releases(name)
        wanted = _specifier(text)
        anchors = [version for version in known if wanted is not None and version in wanted]
        far = [distance(version, anchors, known) for version in known]
        by_text = {str(version): item for version, item in zip(known, far, strict=True)}
        most = by_text.get(versions.get(name, ""), 0) if anchors else 0
        least = 1
        while least < most and self.may_go_on():
            middle = (least + most) // 2
            within = [version for version, item in zip(known, far, strict=True) if item <= middle]
            outcome = self._try(text, f"{name} >={within[0]},<={within[-1]}")
            if outcome is None:
                least = middle + 1
            else:
                versions = outcome.versions
                most = min(middle, by_text.get(versions.get(name, ""), middle))
        return versions

    def _try(self, text: str, instead: str) -> SolverResult | None:
        """Ask with one package as it says, and the others as they stand."""
        before = self.loose[text]
        self.loose[text] = instead
        outcome = self._ask()
        if isinstance(outcome, SolverResult):
            return outcome
        self.loose[text] = before
        if instead == text:
            self.reasons[text] = outcome
        return None


def _name(text: str) -> str:
    return parse_match_spec(text).name


def _specifier(text: str) -> SpecifierSet | None:
    spec = parse_match_spec(text)
    try:
        return SpecifierSet(as_specifier(MatchSpec(spec.name, spec.version)))
    except ValueError:
        return None


def _admits(text: str, version: str | None) -> bool:
    specifier = _specifier(text)
    try:
        return specifier is not None and version is not None and specifier.contains(version, prereleases=True)
    except ValueError:
        return False
