"""The order of nearness: which of two sets that work here is the smaller move from the project.

torch first, then its companions, what pins torch or is pinned by it, Python (if it must be another: the one
that most pins hold with), the file's CUDA, then packages built against torch and others; of equals what a
plan would choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, product

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.adapt.model import Project
from gpuenv.adapt.nearest.bonds import with_bonds
from gpuenv.adapt.nearest.families import with_families
from gpuenv.adapt.nearest.known_bad_dependencies import Settled, settle, with_others_free
from gpuenv.adapt.nearest.other_pins import move_of_pins
from gpuenv.adapt.nearest.python_move import python_move
from gpuenv.adapt.nearest.request import Wishes, wishes_for
from gpuenv.adapt.nearest.resolves_to import resolves_to
from gpuenv.knowledge.built_releases import BuiltReleases
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.candidate import IndexedFile
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.release_distance import distance, named_releases
from gpuenv.resolution.request import COMPANIONS, admits
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import companion, torch_bound
from gpuenv.resolution.rules.companion_failures import CompanionMatch
from gpuenv.resolution.rules.python import runs_on

Move = tuple[int, int]  # how many projects move, and how many releases in all
MOST_TORCHES = 8  # the nearest: those that a project is tried with are fewer
_MOST_SETS = 200  # of companions of one build: more than any torch has


class Nearness:
    """Measures the choices of one question against the project; looks each thing up once.

    `releases` are those of torch that count beside the question's: with them channels can be compared.
    `built` tells for which Pythons the other packages are there, where no index does.
    """

    def __init__(
        self,
        question: ResolutionInput,
        project: Project,
        releases: Iterable[Version] = (),
        built: BuiltReleases | None = None,
    ) -> None:
        self.question, self.project, self._built = question, project, built
        self._wishes: dict[PythonOffer, Wishes] = {}
        self._free = question.with_request(with_others_free(question.request))
        self._matches: dict[tuple[str, str, frozenset[str]], tuple[CompanionMatch, ...]] = {}
        torches = {*releases, *(candidate.torch for candidate in question.candidates)}
        self._releases: dict[str, list[Version]] = {"torch": sorted(torches)}
        self._moves: dict[tuple[str, Version, SpecifierSet], int] = {}
        self._pythons: dict[PythonOffer, tuple[int, ...]] = {}
        self._leads: dict[tuple[object, ...], bool] = {}

    def wishes(self, python: PythonOffer) -> Wishes:
        """Return what the project declares for a Python."""
        if python not in self._wishes:
            wishes = wishes_for(self.project, self.question.target, python)
            alike = (wish for wish in self._wishes.values() if wish.is_like(wishes))
            self._wishes[python] = next(alike, wishes)
        return self._wishes[python]

    def ranked(self, solutions: Sequence[Solution]) -> tuple[Settled, ...]:
        """Return the choices, the nearest first, each with its nearest companions; `solutions` best first.

        Those of the few nearest torch releases: no more are tried, and each is judged with what is beside it.
        """
        settled: list[Settled] = []
        torches: set[Version] = set()
        for near in self._by_torch(solutions):
            settled += near
            torches |= {item.solution.candidate.torch for item in near}
            if len(torches) >= MOST_TORCHES:
                break
        return tuple(settled)

    def torches(self, solutions: Iterable[Solution]) -> Iterator[Version]:
        """Yield the few nearest torch releases, as `ranked` has them; each is judged when asked for."""
        near = (item.solution.candidate.torch for group in self._by_torch(solutions) for item in group)
        return islice(_each_once(near), MOST_TORCHES)

    def _by_torch(self, solutions: Iterable[Solution]) -> Iterator[list[Settled]]:
        """Yield the choices with their nearest companions, those with equally near torches together."""
        for _, near in groupby(sorted(solutions, key=self._torch_rank), key=self._torch_rank):
            yield sorted((item for item in map(self._settled, near) if item is not None), key=self.rank)

    def _torch_rank(self, solution: Solution) -> tuple[int, int]:
        return self._of_torch(solution, self.wishes(solution.python))

    def rank(self, settled: Settled) -> tuple[object, ...]:
        """Return how far a solution is from the project; the less the nearer."""
        solution = settled.solution
        wishes = self.wishes(solution.python)
        return (
            self._of_torch(solution, wishes),
            self._of(solution.companions, wishes, COMPANIONS),
            _of_bonds(settled),
            self._of_python(solution.python, wishes),
            (
                not self._leads_to(solution, wishes),
                solution.candidate.variant not in (wishes.variant, wishes.hinted),
            ),
            self._of(solution.companions, wishes, self.question.request.extensions),
            len(settled.moved),
        )

    def _of_torch(self, solution: Solution, wishes: Wishes) -> tuple[int, int]:
        """Return how far torch moves; of two equally far the newer is nearer."""
        far = self._move("torch", solution.candidate.torch, wishes)
        return far, -self._known("torch").index(solution.candidate.torch) if far else 0

    def _of_python(self, python: PythonOffer, wishes: Wishes) -> tuple[int, ...]:
        """Return whether the Python moves, how many pins that breaks, by how much, how far it moves."""
        if python not in self._pythons:
            far, order = python_move(python, wishes.python)
            holds = self._built is None or (wishes.python is not None and not far)
            breaks = (0, 0) if holds or self._built is None else move_of_pins(wishes, python, self._built)
            self._pythons[python] = bool(far), *breaks, far, order
        return self._pythons[python]

    def _leads_to(self, solution: Solution, wishes: Wishes) -> bool:
        companions = tuple(item.release for item in solution.companions)
        moved = solution.python if self._of_python(solution.python, wishes)[0] else None
        key = (solution.candidate.label, solution.candidate.kind, companions, moved, wishes)
        if key not in self._leads:
            self._leads[key] = resolves_to(solution, wishes, self.question)
        return self._leads[key]

    def _of(self, files: Sequence[IndexedFile], wishes: Wishes, projects: Sequence[str]) -> Move:
        counted = (item for item in files if item.file.name in projects)
        moves = [self._move(str(item.file.name), item.release, wishes) for item in counted]
        return sum(map(bool, moves)), sum(moves)

    def _move(self, project: str, release: Version, wishes: Wishes) -> int:
        wanted = wishes.of(project)
        key = (project, release, wanted)
        if key not in self._moves:
            self._moves[key] = _far(release, wanted, self._known(project))
        return self._moves[key]

    def _known(self, project: str) -> list[Version]:
        if project not in self._releases:
            listed = {item.release for item in self.question.available.all_of(project)}
            self._releases[project] = sorted(listed)
        return self._releases[project]

    def _settled(self, solution: Solution) -> Settled | None:
        """Return the choice with the nearest companions with which it is sound."""
        wishes = self.wishes(solution.python)
        best: tuple[tuple[object, ...], Settled] | None = None
        for far, companions in self._sets(solution, wishes):
            if best is not None and best[0][:2] < far:
                break
            settled = settle(solution, companions, self.question)
            rank = (*far, len(settled.moved)) if settled else ()
            if settled and (best is None or rank < best[0]):
                best = rank, settled
            if settled and not settled.moved:
                break
        return with_families(with_bonds(best[1], self.question), self.question, wishes) if best else None

    def _sets(
        self, solution: Solution, wishes: Wishes
    ) -> list[tuple[tuple[Move, Move], tuple[IndexedFile, ...]]]:
        """Return the sets of companions that fit, the nearest first, with how far each lies."""
        options = [self._options(match, solution.python, wishes) for match in self._matches_of(solution)]
        kinds = COMPANIONS, self.question.request.extensions
        results = [
            ((self._of(files, wishes, kinds[0]), self._of(files, wishes, kinds[1])), files)
            for files in islice(product(*options), _MOST_SETS)
        ]
        return sorted(results, key=lambda pair: pair[0])

    def _options(self, match: CompanionMatch, python: PythonOffer, wishes: Wishes) -> list[IndexedFile]:
        """Return a file of each release that fits, the nearest first; of bound projects the nearest."""
        files: dict[Version, IndexedFile] = {}
        for item in match.files:
            if runs_on(item.file, python):
                files.setdefault(item.release, item)
        near = sorted(files.values(), key=lambda item: self._move(match.project, item.release, wishes))
        return near if match.project in COMPANIONS else near[:1]

    def _matches_of(self, solution: Solution) -> tuple[CompanionMatch, ...]:
        """Return the files that go with a build, of the projects it has: markers leave some out."""
        candidate, question = solution.candidate, self._free
        names = frozenset(str(item.file.name) for item in solution.companions)
        key = candidate.label, candidate.kind, names
        if key not in self._matches:
            requirements = question.request.requirements
            kept = tuple(item for item in requirements if canonicalize_name(item.name) in names)
            request = replace(question.request, requirements=kept)
            facts = (candidate, request, question.target, question.knowledge, question.available)
            results = (companion.match(*facts), torch_bound.match(*facts))
            matches = chain.from_iterable(result for result in results if isinstance(result, tuple))
            self._matches[key] = tuple(matches)
        return self._matches[key]


def _far(release: Version, wanted: SpecifierSet, known: Sequence[Version]) -> int:
    """Return how many releases away what is asked for lies; 0 for one that is asked for."""
    if not wanted or admits(wanted, release):
        return 0
    anchors = [version for version in known if admits(wanted, version)] or named_releases(wanted)
    return max(1, distance(release, anchors, sorted({*known, *anchors})))


def _of_bonds(settled: Settled) -> Move:
    """Return how far packages move that torch pins, or that pin torch."""
    far = [pin.far for pin in settled.moved if pin.far]
    return len(far), sum(far)


def _each_once(releases: Iterable[Version]) -> Iterator[Version]:
    seen: set[Version] = set()
    for release in releases:
        if release not in seen:
            seen.add(release)
            yield release
