"""The lines of conda's that a solver can't hold, moved as little as can be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.adapt.channels.conflict_words import sentences, why_not
from gpuenv.adapt.channels.judged_lines import Judging, bare, conda_lines, settled_by
from gpuenv.adapt.channels.least_moves import SolverConflict, SpecMove, least_moves
from gpuenv.adapt.channels.packages import version_of
from gpuenv.adapt.channels.solving import Solver, find_solver
from gpuenv.adapt.model import DeclaredRequirement, RequirementChange, changed_line
from gpuenv.adapt.nearest.request import requirement_of
from gpuenv.adapt.nearest.resolver_changes import widened
from gpuenv.adapt.task import Task
from gpuenv.i18n.messages import tr
from gpuenv.model.conda import CondaChannel, CondaPlan
from gpuenv.model.errors import Because, Fix, InstallFailed, Unreachable, Unsatisfiable
from gpuenv.model.match_spec import parse_match_spec
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.steps import conda_wanted
from gpuenv.process.surroundings import cache_root

NOT_SOLVED = "not-checked"
_PREFIX = "plan"  # nothing is made there

Changes = tuple[RequirementChange, ...]


class Draft(Struct, frozen=True):
    """What is asked of conda once lines have changed; `own` of the specs are the files'."""

    part: CondaPlan
    own: tuple[str, ...]

    @property
    def fixed(self) -> tuple[str, ...]:
        """The specs that a solver has to hold: Python, torch and what goes with it."""
        return self.part.specs[: len(self.part.specs) - len(self.own)]


def draft_of(plan: Plan, own: tuple[str, ...]) -> Draft:
    """Return what a plan of a conda environment asks of conda."""
    if plan.conda is None:
        raise AssertionError
    return Draft(plan.conda, own)


class Solving(Struct, frozen=True):
    """What is solved: `draft` tells what changes make of the files, `channels` where these are read."""

    judging: Judging
    task: Task
    draft: Callable[[Changes], Draft]
    channels: Callable[[tuple[CondaChannel, ...]], tuple[CondaChannel, ...]]
    ca_bundle: str | None


def not_solved(reason: str) -> PlanWarning:
    """Return the warning of packages that no solver has looked at."""
    return PlanWarning(NOT_SOLVED, tr("conda packages were not resolved: {reason}", reason=reason))


def solved_changes(
    lines: tuple[DeclaredRequirement, ...], changes: Changes, solving: Solving
) -> tuple[Changes, tuple[PlanWarning, ...]]:
    """Return the changes with which a solver finds a set, and a warning where none was asked.

    Raises Unsatisfiable, with the solver's conflict, where no change of these lines helps.
    """
    draft = solving.draft(changes)
    part = replace(draft.part, channels=solving.channels(draft.part.channels))
    wanted = conda_wanted(part, str(Path(cache_root(solving.task.environ)) / _PREFIX))
    solver = find_solver(wanted, solving.task, solving.ca_bundle)
    if solver is None:
        reason = tr("no solver is here; {tool} will decide", tool=solving.task.plan_request.request.manager)
        return changes, (not_solved(reason),) if changes else ()
    try:
        return _solved(lines, changes, draft, solving, solver), ()
    except (Unreachable, InstallFailed) as error:
        return changes, (not_solved(error.because[0].text if error.because else error.message),)
    except KeyboardInterrupt:
        if not solving.task.is_interrupted:
            raise
        return changes, (not_solved(tr("it was interrupted")),)


def _solved(
    lines: tuple[DeclaredRequirement, ...],
    changes: Changes,
    draft: Draft,
    solving: Solving,
    solver: Solver,
) -> Changes:
    packages, settled = solving.judging.packages, settled_by(solving.judging.solution)
    outcome = least_moves(
        draft.fixed,
        draft.own,
        solver,
        lambda name: packages.versions(name, settled),
        solver.may_go_on,
    )
    if isinstance(outcome, SolverConflict):
        raise _refused(solver, outcome)
    if not outcome.moved:
        return changes
    by_name = {parse_match_spec(line.text).name: line for line in conda_lines(lines)}
    for move in outcome.moved:
        if move.name in by_name:
            changes = _moved(by_name[move.name], move, solver.name, changes)
    last = solving.draft(changes)
    final = solver((*last.fixed, *last.own))
    if isinstance(final, SolverConflict):
        raise _refused(solver, final)
    return changes


def _refused(solver: Solver, conflict: SolverConflict) -> Unsatisfiable:
    """Return the solver's refusal, its conflict as sentences."""
    texts = sentences(conflict.message)
    return Unsatisfiable(
        tr("{tool} finds no set of packages for the adapted file", tool=solver.name),
        code="conda-unsatisfiable",
        because=tuple(Because(text, solver.name) for text in texts),
        fixes=(Fix(tr("relax or remove the requirement named above")),),
        data={"message": conflict.message},
    )


def _moved(line: DeclaredRequirement, move: SpecMove, solver: str, changes: Changes) -> Changes:
    release, requirement = version_of(move.version), requirement_of(line)
    if requirement is None or release is None:
        new = bare(line)
    else:
        requirement.specifier = widened(requirement.specifier, release)
        new = str(requirement)
    known = next((change for change in changes if change.declared is line), None)
    if known is not None:
        return tuple(replace(change, new=new) if change is known else change for change in changes)
    return (*changes, changed_line(line, new, Because(_why(move), solver)))


def _why(move: SpecMove) -> str:
    message = move.because.message if move.because else ""
    return why_not(move.name, message) or tr("it does not go with the other packages")
