"""What to ask for in the place of wheels for a CUDA that does not run here, or not beside torch."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from packaging.requirements import Requirement

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix
from gpuenv.resolution.decision import Decision
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules import family


def unfit_family(question: ResolutionInput, decision: Decision) -> str | None:
    """Return the requirement that rules out every build, because the machine does not run its CUDA."""
    subjects = [
        {failure.subject for failure in item.failures if failure.kind == family.UNFIT}
        for item in decision.rejected
        if item.candidate.cuda is not None
    ]
    common = set.intersection(*subjects) if subjects else set()
    if not common or not decide(_without(question, common)).choices:
        return None
    return min(common)


def _without(question: ResolutionInput, labels: set[str]) -> ResolutionInput:
    wishes = family.wishes_of(question.request, question.target, question.knowledge)
    gone = {str(wish.requirement) for wish in wishes if wish.label in labels}
    kept = tuple(item for item in question.request.requirements if str(item) not in gone)
    return question.with_request(replace(question.request, requirements=kept))


def another_member(question: ResolutionInput, decision: Decision) -> Iterator[Fix]:
    """Yield, for each requirement that is for a CUDA that does not do, the member of its family that does."""
    failing = {
        failure.subject
        for item in decision.rejected
        for failure in item.failures
        if failure.kind in (family.UNFIT, family.CLASH)
    }
    for wish in family.wishes_of(question.request, question.target, question.knowledge):
        if wish.label in failing:
            fixes = (_try(question, wish, other) for other in _others(question, wish))
            yield from (fix for fix in (next(filter(None, fixes), None),) if fix)


def _others(question: ResolutionInput, wish: family.FamilyWish) -> Iterator[Requirement]:
    knowledge = question.knowledge
    for sibling in knowledge.ecosystem.families.siblings(wish.members[-1]):
        if sibling not in wish.members:
            yield family.in_place_of(wish, sibling, knowledge)


def _try(question: ResolutionInput, wish: family.FamilyWish, other: Requirement) -> Fix | None:
    requirements = tuple(
        other if str(item) == str(wish.requirement) else item for item in question.request.requirements
    )
    request = replace(question.request, requirements=requirements, spelled_out=True)
    solution = next(iter(decide(question.with_request(request)).choices), None)
    if solution is None:
        return None
    facts = {"text": other, "torch": solution.candidate.torch}
    return Fix(tr("`{text}` works here, with torch {torch}", **facts), request.command())
