"""What a plan does about known-bad combinations, and what it can only tell."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import Requirement

from gpuenv.i18n.messages import gettext, tr
from gpuenv.knowledge.records import KnownBad
from gpuenv.model.errors import Because, Fix
from gpuenv.model.plan import PlannedPackage, PlanWarning
from gpuenv.resolution.constraints import Constraint
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.known_bad_facts import known_bad_facts
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules import known_bad, python


def workarounds(
    question: ResolutionInput, decision: Decision, solution: Solution, constraints: tuple[Constraint, ...]
) -> tuple[Because, ...]:
    """Return the workarounds that the plan holds, each with the combination that it is for."""
    constrained = (
        Because(tr("`{text}`: {effect}", text=text, effect=gettext(row.effect)), row.source)
        for text, row in constraints
    )
    return (*constrained, *_another_python(question, decision, solution))


def _another_python(question: ResolutionInput, decision: Decision, solution: Solution) -> Iterator[Because]:
    """Say which Python would have been chosen, and what would go wrong with it."""
    order = python.admitted(question.pythons, question.request.python)
    before = order[: order.index(solution.python)]
    passed_over = [other for other in decision.with_build(solution.candidate) if other.python in before]
    for row in dict.fromkeys(row for other in passed_over[:1] for row in other.known_bad if row.avoid):
        other = passed_over[0].python
        yield Because(
            tr(
                "Python {python} and not {other}: {effect}",
                python=solution.python.short,
                other=other.short,
                effect=gettext(row.effect),
            ),
            row.source,
        )


def warn_of_known_bad(
    question: ResolutionInput, solution: Solution, resolved: tuple[PlannedPackage, ...]
) -> tuple[PlanWarning, ...]:
    """Return what is known to go wrong with the plan and that nothing in it mends.

    What a resolver chose is judged too: it may have left the user no other version.
    """
    rows = solution.known_bad
    if resolved:
        request, target = question.request, question.target
        facts = known_bad_facts(
            solution.candidate, solution.companions, solution.python, target, request, resolved
        )
        rows = known_bad.applying(facts, question.knowledge)
    return tuple(PlanWarning("known-bad", _say(row)) for row in rows if row.warn or row.avoid or row.forbid)


def _say(row: KnownBad) -> str:
    return tr("{effect}; {remedy}", effect=gettext(row.effect), remedy=gettext(row.remedy))


def apply_workaround(question: ResolutionInput, decision: Decision) -> tuple[Fix, ...]:
    """Return the workarounds that the user's pins keep out, each tried: with it there is a plan."""
    texts = dict.fromkeys(
        failure.workaround
        for rejected in decision.rejected
        for failure in rejected.failures
        if isinstance(failure, known_bad.KnownBadFailure) and failure.workaround
    )
    return tuple(fix for text in texts if (fix := _try(question, text)) is not None)


def _try(question: ResolutionInput, text: str) -> Fix | None:
    request = question.request.with_requirement(text)
    solutions = decide(question.with_request(request)).choices
    if not solutions:
        return None
    return Fix(
        tr(
            "`{text}` works here, with torch {torch}",
            text=Requirement(text),
            torch=solutions[0].candidate.torch,
        ),
        request.command(),
    )
