"""The decision: every build judged by every rule, the survivors in order of preference."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpuenv.core.case import Case, Failure, Found
from gpuenv.core.cases import collect_cases, collect_shelf
from gpuenv.core.knowledge import KnownBad, Knowledge
from gpuenv.core.request import Request
from gpuenv.core.rules import companion, driver, kernels, known_bad, library, platform, python, reach
from gpuenv.core.rules import request as request_rule
from gpuenv.core.target import Target, TargetGpu
from gpuenv.values.index import Listing
from gpuenv.values.python import PythonOffer
from gpuenv.values.text import tr
from gpuenv.values.variant import CudaVersion


@dataclass(frozen=True, slots=True)
class Question:
    """All that a decision depends on. `cases` and `shelf` are what the listings and the matrix give."""

    request: Request
    target: Target
    knowledge: Knowledge
    listings: tuple[Listing, ...]
    pythons: tuple[PythonOffer, ...]
    cases: tuple[Case, ...]
    shelf: companion.Shelf

    def with_request(self, request: Request) -> Question:
        return replace(self, request=request)

    def with_target(self, target: Target) -> Question:
        return replace(self, target=target)


@dataclass(frozen=True, slots=True)
class Choice:
    """A build that passes every rule, with its Python and companions."""

    case: Case
    python: PythonOffer
    torch: Found
    companions: tuple[Found, ...]
    native: bool
    through_ptx: tuple[TargetGpu, ...]
    known_bad: tuple[KnownBad, ...]

    @property
    def files(self) -> tuple[Found, ...]:
        return (self.torch, *self.companions)


@dataclass(frozen=True, slots=True)
class Judged:
    """A build that fails, with all that is wrong with it."""

    case: Case
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """Choices, the best first, and the builds that came into question and fail, newest first."""

    choices: tuple[Choice, ...]
    rejected: tuple[Judged, ...]


def ask(
    request: Request,
    target: Target,
    knowledge: Knowledge,
    listings: tuple[Listing, ...],
    pythons: tuple[PythonOffer, ...],
) -> Question:
    """Put the question together; the listings are sorted into builds once."""
    cases = collect_cases(listings, target, knowledge)
    return Question(request, target, knowledge, listings, pythons, cases, collect_shelf(listings, target))


def decide(question: Question) -> Decision:
    """Judge every build of the kind in question."""
    offers = python.admitted(question.pythons, question.request.python)
    choices: list[Choice] = []
    rejected: list[Judged] = []
    for case in question.cases:
        if not request_rule.in_question(case, question.request, question.target):
            continue
        failures = _judge_build(case, question) + _judge_files(case, question, offers)
        good, companion_failures = ([], ()) if failures else _judge_together(case, question, offers)
        choices += good
        if not good:
            rejected.append(Judged(case, failures + companion_failures))
    rejected.sort(key=lambda judged: (judged.case.torch, judged.case.cuda or _NO_CUDA), reverse=True)
    return Decision(_in_order_of_preference(choices, offers), tuple(rejected))


_NO_CUDA = CudaVersion(0, 0)


def _judge_build(case: Case, question: Question) -> tuple[Failure, ...]:
    target, knowledge = question.target, question.knowledge
    return (
        request_rule.check(case, question.request)
        + driver.check(case, target, knowledge)
        + kernels.check(case, target, knowledge)
        + library.check(case, target, knowledge)
    )


def _judge_files(case: Case, question: Question, offers: tuple[PythonOffer, ...]) -> tuple[Failure, ...]:
    fitting = platform.fitting(case.found, question.target)
    asked, source = _asked_python(question)
    return (
        reach.check(case, tuple(item for item in question.listings if item.project == "torch"))
        + platform.check(case, question.target)
        + python.check(case, fitting, offers, asked, source)
    )


def _asked_python(question: Question) -> tuple[str, str]:
    if question.request.python is not None:
        return str(question.request.python).removeprefix("==").removesuffix(".*"), "option --python"
    provided = ", ".join(dict.fromkeys(offer.short for offer in question.pythons)) or tr("any Python")
    return provided, tr("the Pythons that {manager} can provide", manager=question.request.manager)


def _judge_together(
    case: Case, question: Question, offers: tuple[PythonOffer, ...]
) -> tuple[list[Choice], tuple[Failure, ...]]:
    """Judge the build together with each Python and its companions; return what works, else why not."""
    matches = companion.match(case, question.request, question.target, question.knowledge, question.shelf)
    if isinstance(matches, Failure):
        return [], (matches,)
    good: list[Choice] = []
    failures: dict[Failure, None] = {}
    fitting = platform.fitting(case.found, question.target)
    for offer in offers:
        files = [item for item in fitting if python.runs_on(item.file, offer)]
        if not files:
            continue
        outcome = _judge_with_python(case, min(files, key=_file_preference), matches, offer, question)
        if isinstance(outcome, Choice):
            good.append(outcome)
        else:
            failures.update(dict.fromkeys(outcome))
    return good, tuple(failures)


def _judge_with_python(
    case: Case, torch: Found, matches: tuple[companion.Match, ...], offer: PythonOffer, question: Question
) -> Choice | tuple[Failure, ...]:
    target, knowledge = question.target, question.knowledge
    companions = companion.pick(matches, case, offer)
    if isinstance(companions, Failure):
        return (companions,)
    rows = known_bad.applying(case, companions, offer, target, knowledge)
    failures = known_bad.check(case, rows)
    if failures:
        return failures
    cuda = case.cuda
    native = cuda is None or all(driver.is_native(cuda, gpu.machine, knowledge) for gpu in target.gpus)
    through_ptx = tuple(gpu for gpu in target.gpus if kernels.code_for(case, gpu, knowledge) == "ptx")
    return Choice(case, offer, torch, companions, native, through_ptx, rows)


def _file_preference(item: Found) -> tuple[object, ...]:
    return (item.file.assumed, item.order, item.file.filename)


def _in_order_of_preference(choices: list[Choice], offers: tuple[PythonOffer, ...]) -> tuple[Choice, ...]:
    """Sort: newest torch, listed before assumed, native before minor-version compatibility, newest CUDA, Python.

    Sorts are stable, so the criteria are applied from the least to the most important.
    """
    ordered = sorted(choices, key=lambda choice: choice.torch.order)
    ordered.sort(key=lambda choice: offers.index(choice.python))
    ordered.sort(key=lambda choice: choice.case.cuda or _NO_CUDA, reverse=True)
    ordered.sort(key=lambda choice: not choice.native)
    ordered.sort(key=lambda choice: any(item.file.assumed for item in choice.files))
    ordered.sort(key=lambda choice: choice.case.torch, reverse=True)
    return tuple(ordered)
