"""The decision: builds judged by every rule, the survivors in order of preference.

The newest torch goes first whatever else is known of a build, so releases are judged one after another, and
those after the last one that somebody looks at not at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import KnownBad
from gpuenv.model.index import Listing
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.collect import collect_candidates, collect_companions, named_listings
from gpuenv.resolution.decision import (
    Block,
    Decision,
    RejectedCandidate,
    Solution,
    decision_of,
    in_order_of_preference,
    is_local,
    newest_first,
)
from gpuenv.resolution.judge_build import judge_build, match_beside
from gpuenv.resolution.known_bad_facts import known_bad_facts
from gpuenv.resolution.request import Request, by_python
from gpuenv.resolution.rules import (
    availability,
    companion,
    companion_failures,
    driver,
    gpu_code,
    known_bad,
    platform_tags,
    python,
    requested,
)
from gpuenv.resolution.target import Target


class ResolutionInput(Struct, frozen=True):
    """All that a decision depends on. `candidates` and `available` are what the listings and the matrix give.

    For what is said of a plan: `no_numpy` is why numpy is left out where nobody typed it, `cpu_index` the
    address of the official CPU builds. `bounds` are within what a resolver may choose other packages.
    """

    request: Request
    target: Target
    knowledge: Knowledge
    listings: tuple[Listing, ...]
    pythons: tuple[PythonOffer, ...]
    candidates: tuple[Candidate, ...]
    available: companion_failures.AvailableCompanions
    no_numpy: str | None = None
    cpu_index: str | None = None
    bounds: tuple[str, ...] = ()

    def with_listings(self, more: tuple[Listing, ...]) -> ResolutionInput:
        """Return the question with further pages of the extensions."""
        listings = (*self.listings, *more)
        return replace(
            self,
            listings=listings,
            available=collect_companions(listings, self.target, self.request.extensions),
        )

    def with_request(self, request: Request) -> ResolutionInput:
        """Return the question with another request."""
        return replace(self, request=request)

    def with_target(self, target: Target) -> ResolutionInput:
        """Return the question for another target of the same platform."""
        return replace(self, target=target)


def build_input(
    request: Request,
    target: Target,
    knowledge: Knowledge,
    listings: tuple[Listing, ...],
    pythons: tuple[PythonOffer, ...],
) -> ResolutionInput:
    """Put the question together; the listings are sorted into builds once."""
    listings = named_listings(listings, target, knowledge)
    candidates = collect_candidates(listings, target, knowledge)
    available = collect_companions(listings, target, request.extensions)
    return ResolutionInput(request, target, knowledge, listings, pythons, candidates, available)


def decide(question: ResolutionInput) -> Decision:
    """Judge the builds of the kind in question.

    Where there is no GPU and no CPU build, builds for CUDA that are listed are in question: they run on the
    CPU too. Not where a CPU build lacks nothing but a companion that was asked for.
    """
    decision = _decide(question)
    if question.request.accelerator is not None or question.target.gpus or decision.choices:
        return decision
    if question.target.is_accelerated:
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
    return rejected.candidate.variant.is_cpu and rules == {"companion"}


def _decide(question: ResolutionInput) -> Decision:
    offers = python.admitted(question.pythons, question.request.python)
    parts = [
        (question.with_request(request), pythons)
        for request, pythons in by_python(question.request, question.target, offers)
    ]
    return decision_of(_judge_block(candidates, question, offers, parts) for candidates in _blocks(question))


def _blocks(question: ResolutionInput) -> Iterator[list[Candidate]]:
    """The builds in question by release, newest first; all at once where a torch lies in a wheelhouse.

    That one may go before newer ones: see `in_order_of_preference`.
    """
    candidates = [
        candidate
        for candidate in question.candidates
        if requested.in_question(candidate, question.request, question.target)
    ]
    if question.target.is_accelerated or any(
        is_local(item) for candidate in candidates for item in candidate.files
    ):
        yield candidates
        return
    blocks: dict[Version, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        blocks[candidate.torch].append(candidate)
    for torch in sorted(blocks, reverse=True):
        yield blocks[torch]


_Part = tuple[ResolutionInput, tuple[PythonOffer, ...]]


def _judge_block(
    candidates: list[Candidate],
    question: ResolutionInput,
    offers: tuple[PythonOffer, ...],
    parts: list[_Part],
) -> Block:
    solutions: list[Solution] = []
    rejected: list[RejectedCandidate] = []
    for candidate in candidates:
        outcomes = [_judge(candidate, part, pythons) for part, pythons in parts]
        good = [solution for result, _ in outcomes for solution in result]
        solutions += good
        if not good:
            rejected.append(RejectedCandidate(candidate, _each_once([result for _, result in outcomes])))
    ordered = in_order_of_preference(solutions, offers, offline=question.request.offline)
    if question.target.is_accelerated:
        from gpuenv.resolution.accelerators.preference import prefer  # noqa: PLC0415

        ordered = prefer(ordered, question.target, question.knowledge)
    return ordered, newest_first(rejected)


def _each_once(results: list[tuple[Failure, ...]]) -> tuple[Failure, ...]:
    if len(results) == 1 and len(results[0]) == 1:
        return results[0]
    return tuple(dict.fromkeys(failure for result in results for failure in result))


def _judge(
    candidate: Candidate, question: ResolutionInput, offers: tuple[PythonOffer, ...]
) -> tuple[list[Solution], tuple[Failure, ...]]:
    request, target, knowledge = question.request, question.target, question.knowledge
    failures = judge_build(candidate, request, target, knowledge)
    failures += _judge_files(candidate, question, offers)
    return ([], failures) if failures else _judge_together(candidate, question, offers)


def _judge_files(
    candidate: Candidate, question: ResolutionInput, offers: tuple[PythonOffer, ...]
) -> tuple[Failure, ...]:
    fitting = platform_tags.fitting(candidate.files, question.target)
    return (
        availability.check(candidate, question.listings)
        + platform_tags.check(candidate, question.target)
        + _judge_python(candidate, question, fitting, offers)
    )


def _judge_python(
    candidate: Candidate,
    question: ResolutionInput,
    fitting: tuple[IndexedFile, ...],
    offers: tuple[PythonOffer, ...],
) -> tuple[Failure, ...]:
    request = question.request
    if offers and python.have_file(fitting, offers):
        return ()
    if not offers:
        return (python.not_provided(request.requested_python, question.pythons, request.manager),)
    if request.python is not None:
        return python.check(candidate, fitting, offers, request.requested_python, "option --python")
    source = tr("the Pythons that {manager} can provide", manager=request.manager)
    return python.check(candidate, fitting, offers, python.in_words(offers), source)


def _judge_together(
    candidate: Candidate, question: ResolutionInput, offers: tuple[PythonOffer, ...]
) -> tuple[list[Solution], tuple[Failure, ...]]:
    """Judge the build together with each Python and its companions; return what works, else why not."""
    matches = match_beside(
        candidate, question.request, question.target, question.knowledge, question.available
    )
    if isinstance(matches, Failure):
        return [], (matches,)
    good: list[Solution] = []
    failures: dict[Failure, None] = {}
    target, knowledge, cuda = question.target, question.knowledge, candidate.cuda
    native = cuda is None or all(driver.is_native(cuda, gpu.machine, knowledge) for gpu in target.gpus)
    through_ptx = tuple(gpu for gpu in target.gpus if gpu_code.code_for(candidate, gpu, knowledge) == "ptx")
    fitting = platform_tags.fitting(candidate.files, question.target)
    for offer in offers:
        files = [item for item in fitting if python.runs_on(item.file, offer)]
        if not files:
            continue
        torch = min(files, key=_file_preference)
        beside = matches
        if question.request.offline and is_local(torch):
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


class _Completed(Struct, frozen=True):
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
    facts = known_bad_facts(candidate, companions, offer, question.target, question.request)
    rows = known_bad.applying(facts, question.knowledge)
    return known_bad.check(candidate, rows, facts) or _Completed(companions, rows)


def _file_preference(item: IndexedFile) -> tuple[object, ...]:
    return (item.file.assumed, item.order, item.file.filename)
