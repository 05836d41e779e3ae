"""The decision: builds judged by every rule, the survivors in order of preference.

The newest torch goes first whatever else is known of a build, so releases are judged one after another, and
those after the last one that somebody looks at not at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, overload

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge, KnownBad
from gpuenv.model.index import Listing
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.applicable_requirements import by_python
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.collect import collect_candidates, collect_companions
from gpuenv.resolution.known_bad_facts import known_bad_facts
from gpuenv.resolution.request import Request
from gpuenv.resolution.rules import availability as reach
from gpuenv.resolution.rules import bundled_libraries as library
from gpuenv.resolution.rules import companion, companion_failures, driver, known_bad, python
from gpuenv.resolution.rules import gpu_code as kernels
from gpuenv.resolution.rules import platform_tags as platform
from gpuenv.resolution.rules import requested as request_rule
from gpuenv.resolution.rules import torch_bound as bound_rule
from gpuenv.resolution.target import Target, TargetGpu


@dataclass(frozen=True, slots=True)
class ResolutionInput:
    """All that a decision depends on. `cases` and `shelf` are what the listings and the matrix give.

    For what is said of a plan: `no_numpy` is why numpy is left out where nobody typed it, `cpu_index` the
    address of the official CPU builds.
    """

    request: Request
    target: Target
    knowledge: Knowledge
    listings: tuple[Listing, ...]
    pythons: tuple[PythonOffer, ...]
    cases: tuple[Candidate, ...]
    shelf: companion_failures.AvailableCompanions
    no_numpy: str | None = None
    cpu_index: str | None = None

    def with_listings(self, more: tuple[Listing, ...]) -> ResolutionInput:
        """Return the question with further pages of the projects bound to torch."""
        listings = (*self.listings, *more)
        return replace(
            self, listings=listings, shelf=collect_companions(listings, self.target, self.request.bound)
        )

    def with_request(self, request: Request) -> ResolutionInput:
        """Return the question with another request."""
        return replace(self, request=request)

    def with_target(self, target: Target) -> ResolutionInput:
        """Return the question for another target of the same platform."""
        return replace(self, target=target)


@dataclass(frozen=True, slots=True)
class Solution:
    """A build that passes every rule, with its Python and companions."""

    case: Candidate
    python: PythonOffer
    torch: IndexedFile
    companions: tuple[IndexedFile, ...]
    native: bool
    through_ptx: tuple[TargetGpu, ...]
    known_bad: tuple[KnownBad, ...]
    left_out: tuple[Failure, ...] = ()  # why an optional companion does not come along

    @property
    def files(self) -> tuple[IndexedFile, ...]:
        """The files of the torch stack, torch's first."""
        return (self.torch, *self.companions)

    @property
    def is_assumed(self) -> bool:
        """Whether no page that was read lists one of the files."""
        return any(item.file.assumed for item in self.files)


@dataclass(frozen=True, slots=True)
class RejectedCandidate:
    """A build that fails, with all that is wrong with it."""

    case: Candidate
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """Choices, the best first, and the builds that came into question and fail, newest first.

    Both are judged as far as they are looked at: `choices[0]`, `if choices` and a loop that ends early cost
    less than `len(choices)`.
    """

    choices: Sequence[Solution]
    rejected: Sequence[RejectedCandidate]

    def with_build(self, candidate: Candidate) -> tuple[Solution, ...]:
        """Return the choices with a build, of which one has been looked at."""
        return tuple(choice for choice in _judged(self.choices) if choice.case is candidate)

    def rejected_down_to(self, torch: Version) -> tuple[RejectedCandidate, ...]:
        """Return the rejected builds of newer releases and of this, of which a choice has been looked at."""
        return tuple(judged for judged in _judged(self.rejected) if judged.case.torch >= torch)

    def rejected_above(self, torch: Version) -> tuple[RejectedCandidate, ...]:
        """Return the rejected builds of newer releases than one of which a choice has been looked at."""
        return tuple(judged for judged in _judged(self.rejected) if judged.case.torch > torch)


_T = TypeVar("_T")
_Block = tuple[Sequence[Solution], Sequence[RejectedCandidate]]


class _Judging:
    """Blocks of builds, judged when something of them is looked at."""

    def __init__(self, blocks: Iterable[_Block]) -> None:
        self._blocks = iter(blocks)
        self.choices: list[Solution] = []
        self.rejected: list[RejectedCandidate] = []

    def judge_more(self) -> bool:
        """Judge the next block; whether there was one."""
        for solutions, rejected in self._blocks:
            self.choices += solutions
            self.rejected += rejected
            return True
        return False


class _AsJudged(Sequence[_T], Generic[_T]):
    """What has been judged so far, and what comes when it is looked at."""

    def __init__(self, judging: _Judging, items: list[_T]) -> None:
        self._judging, self._items = judging, items

    @property
    def so_far(self) -> Sequence[_T]:
        """What has been judged."""
        return self._items

    def __iter__(self) -> Iterator[_T]:
        at = 0
        while at < len(self._items) or self._judging.judge_more():
            yield from self._items[at : (at := len(self._items))]

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def __len__(self) -> int:
        while self._judging.judge_more():
            pass
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        ends = index.stop if isinstance(index, slice) else index + 1
        while (ends is None or ends <= 0 or len(self._items) < ends) and self._judging.judge_more():
            pass
        return self._items[index]


def _judged(items: Sequence[_T]) -> Sequence[_T]:
    """Those that have been judged: nothing more is looked at."""
    return items.so_far if isinstance(items, _AsJudged) else items


def build_input(
    request: Request,
    target: Target,
    knowledge: Knowledge,
    listings: tuple[Listing, ...],
    pythons: tuple[PythonOffer, ...],
) -> ResolutionInput:
    """Put the question together; the listings are sorted into builds once."""
    candidates = collect_candidates(listings, target, knowledge)
    available = collect_companions(listings, target, request.bound)
    return ResolutionInput(request, target, knowledge, listings, pythons, candidates, available)


def decide(question: ResolutionInput) -> Decision:
    """Judge the builds of the kind in question.

    Where there is no GPU and no CPU build, builds for CUDA that are listed are in question: they run on the
    CPU too. Not where a CPU build lacks nothing but a companion that was asked for.
    """
    decision = _decide(question)
    if question.request.variant is not None or question.target.gpus or decision.choices:
        return decision
    if any(_lacks_companions_alone(rejected) for rejected in decision.rejected):
        return decision
    request = replace(question.request, runs_cuda_on_cpu=True)
    listed = tuple(
        solution
        for solution in _decide(question.with_request(request)).choices
        if not solution.torch.file.assumed
    )
    return replace(decision, choices=listed)


def _lacks_companions_alone(rejected: RejectedCandidate) -> bool:
    rules = {failure.rule for failure in rejected.failures}
    return rejected.case.variant.is_cpu and rules == {"companion"}


def _decide(question: ResolutionInput) -> Decision:
    offers = python.admitted(question.pythons, question.request.python)
    parts = [
        (question.with_request(request), pythons)
        for request, pythons in by_python(question.request, question.target, offers)
    ]
    judging = _Judging(_judge_cases(candidates, question, offers, parts) for candidates in _blocks(question))
    return Decision(_AsJudged(judging, judging.choices), _AsJudged(judging, judging.rejected))


def _blocks(question: ResolutionInput) -> Iterator[list[Candidate]]:
    """The builds in question by release, newest first; all at once where a torch lies in a wheelhouse.

    That one may go before newer ones: see `_in_order_of_preference`.
    """
    candidates = [
        case for case in question.cases if request_rule.in_question(case, question.request, question.target)
    ]
    if any(_is_local(item) for case in candidates for item in case.found):
        yield candidates
        return
    blocks: dict[Version, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        blocks[candidate.torch].append(candidate)
    for torch in sorted(blocks, reverse=True):
        yield blocks[torch]


_Part = tuple[ResolutionInput, tuple[PythonOffer, ...]]


def _judge_cases(
    candidates: list[Candidate],
    question: ResolutionInput,
    offers: tuple[PythonOffer, ...],
    parts: list[_Part],
) -> _Block:
    solutions: list[Solution] = []
    rejected: list[RejectedCandidate] = []
    for candidate in candidates:
        outcomes = [_judge(candidate, part, pythons) for part, pythons in parts]
        good = [solution for result, _ in outcomes for solution in result]
        solutions += good
        if not good:
            failures = dict.fromkeys(failure for _, result in outcomes for failure in result)
            rejected.append(RejectedCandidate(candidate, tuple(failures)))
    rejected.sort(key=lambda judged: (judged.case.torch, judged.case.cuda or _NO_CUDA), reverse=True)
    return _in_order_of_preference(solutions, offers, offline=question.request.offline), rejected


_NO_CUDA = CudaVersion(0, 0)


def _judge(
    candidate: Candidate, question: ResolutionInput, offers: tuple[PythonOffer, ...]
) -> tuple[list[Solution], tuple[Failure, ...]]:
    failures = _judge_build(candidate, question) + _judge_files(candidate, question, offers)
    return ([], failures) if failures else _judge_together(candidate, question, offers)


def _judge_build(candidate: Candidate, question: ResolutionInput) -> tuple[Failure, ...]:
    target, knowledge = question.target, question.knowledge
    return (
        request_rule.check(candidate, question.request)
        + driver.check(candidate, target, knowledge)
        + kernels.check(candidate, target, knowledge)
        + library.check(candidate, target, knowledge)
    )


def _judge_files(
    candidate: Candidate, question: ResolutionInput, offers: tuple[PythonOffer, ...]
) -> tuple[Failure, ...]:
    fitting = platform.fitting(candidate.found, question.target)
    return (
        reach.check(candidate, tuple(item for item in question.listings if item.project == "torch"))
        + platform.check(candidate, question.target)
        + _judge_python(candidate, question, fitting, offers)
    )


def _judge_python(
    candidate: Candidate,
    question: ResolutionInput,
    fitting: tuple[IndexedFile, ...],
    offers: tuple[PythonOffer, ...],
) -> tuple[Failure, ...]:
    request = question.request
    if not offers:
        return (python.not_provided(request.python_asked, question.pythons, request.manager),)
    if request.python is not None:
        return python.check(candidate, fitting, offers, request.python_asked, "option --python")
    source = tr("the Pythons that {manager} can provide", manager=request.manager)
    return python.check(candidate, fitting, offers, python.in_words(offers), source)


def _judge_together(
    candidate: Candidate, question: ResolutionInput, offers: tuple[PythonOffer, ...]
) -> tuple[list[Solution], tuple[Failure, ...]]:
    """Judge the build together with each Python and its companions; return what works, else why not."""
    matches = companion.match(
        candidate, question.request, question.target, question.knowledge, question.shelf
    )
    if isinstance(matches, Failure):
        return [], (matches,)
    bound = _match_bound(candidate, question)
    if isinstance(bound, Failure):
        return [], (bound,)
    matches += bound
    good: list[Solution] = []
    failures: dict[Failure, None] = {}
    target, knowledge, cuda = question.target, question.knowledge, candidate.cuda
    native = cuda is None or all(driver.is_native(cuda, gpu.machine, knowledge) for gpu in target.gpus)
    through_ptx = tuple(gpu for gpu in target.gpus if kernels.code_for(candidate, gpu, knowledge) == "ptx")
    fitting = platform.fitting(candidate.found, question.target)
    for offer in offers:
        files = [item for item in fitting if python.runs_on(item.file, offer)]
        if not files:
            continue
        torch = min(files, key=_file_preference)
        beside = matches
        if question.request.offline and torch.listing.source.kind == "directory":
            beside = companion.in_wheelhouses(matches, candidate)
        outcome = _complete(candidate, beside, offer, question)
        if isinstance(outcome, _Completed):
            left_out = companion.left_out(beside, candidate, offer)
            good.append(
                Solution(
                    candidate,
                    offer,
                    torch,
                    outcome.companions,
                    native,
                    through_ptx,
                    outcome.known_bad,
                    left_out,
                )
            )
        else:
            failures.update(dict.fromkeys(outcome))
    return good, companion_failures.merged(tuple(failures))


def _match_bound(
    candidate: Candidate, question: ResolutionInput
) -> tuple[companion_failures.CompanionMatch, ...] | Failure:
    if not question.request.bound:
        return ()
    return bound_rule.match(candidate, question.request, question.target, question.knowledge, question.shelf)


@dataclass(frozen=True, slots=True)
class _Completed:
    """What a build and a Python are completed with."""

    companions: tuple[IndexedFile, ...]
    known_bad: tuple[KnownBad, ...]


def _complete(
    candidate: Candidate,
    matches: tuple[companion_failures.CompanionMatch, ...],
    offer: PythonOffer,
    question: ResolutionInput,
) -> _Completed | tuple[Failure, ...]:
    companions = companion.pick(matches, candidate, offer)
    if isinstance(companions, Failure):
        return (companions,)
    situation = known_bad_facts(candidate, companions, offer, question.target, question.request)
    rows = known_bad.applying(situation, question.knowledge)
    return known_bad.check(candidate, rows, situation) or _Completed(companions, rows)


def _file_preference(item: IndexedFile) -> tuple[object, ...]:
    return (item.file.assumed, item.order, item.file.filename)


def _in_order_of_preference(
    solutions: list[Solution], offers: tuple[PythonOffer, ...], *, offline: bool
) -> tuple[Solution, ...]:
    """Sort: newest torch, with what is optional, listed before assumed, native, newest CUDA, Python, index.

    Of the Pythons, those with which nothing is known to go wrong come first. Where a torch is here, in a
    wheelhouse, those that are only assumed come last; offline, it comes before all that lie elsewhere.

    Sorts are stable, so the criteria are applied from the least to the most important.
    """
    ordered = sorted(solutions, key=lambda solution: solution.torch.order)
    ordered.sort(key=lambda solution: offers.index(solution.python))
    ordered.sort(key=lambda solution: any(row.avoid for row in solution.known_bad))
    ordered.sort(key=lambda solution: solution.case.cuda or _NO_CUDA, reverse=True)
    ordered.sort(key=lambda solution: not solution.native)
    ordered.sort(key=lambda solution: solution.is_assumed)
    ordered.sort(key=lambda solution: len(solution.left_out))
    ordered.sort(key=lambda solution: solution.case.torch, reverse=True)
    if any(map(_lies_here, solutions)):
        ordered.sort(
            key=lambda solution: solution.torch.file.assumed or (offline and not _lies_here(solution))
        )
    return tuple(ordered)


def _lies_here(solution: Solution) -> bool:
    return _is_local(solution.torch)


def _is_local(item: IndexedFile) -> bool:
    return item.listing.source.kind == "directory"
