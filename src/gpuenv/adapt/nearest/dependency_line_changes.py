"""The lines of packages beside the torch stack that must change, or be added: known to fail otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.adapt.model import DeclaredRequirement, RequirementChange
from gpuenv.adapt.nearest.known_bad_dependencies import tightened
from gpuenv.adapt.nearest.request import Wishes, requirement_of
from gpuenv.adapt.nearest.search import Nearest
from gpuenv.i18n.messages import gettext, tr
from gpuenv.knowledge.records import KnownBad
from gpuenv.knowledge.version_ranges import lies_within
from gpuenv.resolution.constraints import constraints_of
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput


def other_changes(nearest: Nearest, solution: Solution, wishes: Wishes) -> Iterator[RequirementChange]:
    """Yield what known-bad combinations demand of other packages and the files do not keep already."""
    demands = {pin.project: (Requirement(pin.text), pin.row) for pin in nearest.moved(solution)}
    demands |= _constraints(nearest.question_for(solution), solution)
    for project, (demand, row) in demands.items():
        lines = wishes.lines.get(project, ())
        if lines and (lies_within(wishes.of(project), demand.specifier) or not demand.specifier):
            continue
        yield from _tightened(project, demand, row, lines)


def _constraints(question: ResolutionInput, solution: Solution) -> dict[str, tuple[Requirement, KnownBad]]:
    """Return the constraints on what will be there, by project; what is added by one may call for another."""
    rows: dict[str, tuple[Requirement, KnownBad]] = {}
    while more := [
        (Requirement(text), row)
        for text, row in constraints_of(question, solution)
        if canonicalize_name(Requirement(text).name) not in rows
    ]:
        for demand, row in more:
            rows[canonicalize_name(demand.name)] = demand, row
            if demand.name not in {requirement.name for requirement in question.request.others}:
                question = question.with_request(question.request.with_requirement(str(demand)))
    return rows


def _without(row: KnownBad) -> str:
    return tr("without it: {effect}", effect=gettext(row.effect))


def _tightened(
    project: str, demand: Requirement, row: KnownBad, lines: tuple[DeclaredRequirement, ...]
) -> Iterator[RequirementChange]:
    if not lines:
        yield RequirementChange(project, None, None, str(demand), _without(row), row.source)
    for line in lines:
        requirement = requirement_of(line)
        if requirement is None or requirement.url or (line.constraint and not requirement.specifier):
            continue
        if not lies_within(requirement.specifier, demand.specifier):
            requirement.specifier = tightened(requirement.specifier, demand.specifier)
            yield RequirementChange(
                project, line, line.requirement, str(requirement), _without(row), row.source
            )
