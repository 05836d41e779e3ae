"""What a plan says of the mirrors that torch comes from."""

from __future__ import annotations

from dataclasses import replace

from gpuenv.indexes.mirrors.notes import warn_of_stand_ins, what_official_has, why_no_torch_wheels
from gpuenv.model.plan import Plan
from gpuenv.planning.pages.listings import PlanListings
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide


def told_of_mirrors(plan: Plan, question: ResolutionInput, decision: Decision, listed: PlanListings) -> Plan:
    """Say why torch comes from where it does, and what the official index would have given."""
    # the choice that a plan was made from: another than the first where other requirements forced it
    torch = plan.packages[0]
    solution = next(
        (item for item in decision.choices if (item.torch.file.url or None) == torch.url), decision.choices[0]
    )
    official = _from_official(question, listed)
    return replace(
        plan,
        why=(*why_no_torch_wheels(solution, listed.named), *plan.why),
        advice=(*plan.advice, *what_official_has(solution, official)),
        warnings=(
            *warn_of_stand_ins(solution, listed.listings, listed.stood_in, listed.silent),
            *plan.warnings,
        ),
    )


def _from_official(question: ResolutionInput, listed: PlanListings) -> Solution | None:
    if not listed.official:
        return None
    beside = tuple(listing for listing in question.listings if listing.project in question.request.bound)
    listings = (*listed.official, *beside)
    inputs = build_input(question.request, question.target, question.knowledge, listings, question.pythons)
    solutions = decide(inputs).choices
    return solutions[0] if solutions else None
