"""The nearest set for an environment.yml whose torch is conda's, from the channels that have it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.adapt.dependencies import (
    BY_UV,
    NOT_CHECKED,
    Stack,
    foreign_to_pypi,
    limits_of_moves,
    resolvable,
    why_of,
    without_builds,
)
from gpuenv.adapt.minimal_upgrades import Settlement
from gpuenv.adapt.model import RequirementChange
from gpuenv.adapt.nearest.line_changes import stack_changes
from gpuenv.adapt.nearest.ranking import Nearness
from gpuenv.adapt.nearest.request import Wishes, wishes_for
from gpuenv.adapt.nearest.resolver_changes import moved_changes
from gpuenv.adapt.nearest.search import Nearest, find_nearest
from gpuenv.adapt.patched_files import environment_of, patched
from gpuenv.adapt.resolve_dependencies import Resolver
from gpuenv.adapt.task import Task
from gpuenv.i18n.messages import tr
from gpuenv.installers import uv_compile as resolver
from gpuenv.model.errors import Because, InstallFailed, Unreachable, Unsatisfiable
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning
from gpuenv.planning.conda.plan import ChannelQuery, ChannelQuestion, question_of_channel
from gpuenv.planning.make_plan import finished, in_conda
from gpuenv.planning.pages.listings import configuration_for
from gpuenv.resolution.conda.environment_yml import EnvironmentFile
from gpuenv.resolution.conda.plan_part import assemble_from_channel
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.plan_builder import sources_of
from gpuenv.resolution.resolve import ResolutionInput


@dataclass(frozen=True, slots=True)
class _Found:
    put: ChannelQuestion
    nearest: Nearest

    @property
    def choice(self) -> Solution:
        return self.nearest.choices[0]


def adapt_in_conda(task: Task) -> tuple[Plan, tuple[RequirementChange, ...]]:
    """Return the plan and the changes without risks; raise UsageError, Refused or Unreachable.

    Of the packages beside torch a resolver of wheels tells which are not for the Python: conda's solver alone
    knows what it has.
    """
    configuration = configuration_for(task.wish.options, task.environ)
    hit = _nearest(task, configuration)
    changes = stack_changes(hit.nearest, hit.choice, task.left, task.knowledge)
    wishes = wishes_for(task.left, task.place, hit.choice.python)
    warnings: tuple[PlanWarning, ...] = ()
    if changes:
        question = hit.nearest.question_for(hit.choice)
        changes, warnings = _others_changed(question, hit.choice, wishes, changes, configuration, task)
    plan = _plan(hit, changes, configuration, task)
    return replace(plan, warnings=(*plan.warnings, *warnings)), changes


def _nearest(task: Task, configuration: IndexConfiguration) -> _Found:
    """Return what is nearest of all channels; of equals the file's own first. Raises the first's refusal."""
    results: list[tuple[tuple[object, ...], int, _Found]] = []
    refusals: list[Unsatisfiable] = []
    releases = {build.torch for build in task.knowledge.builds_of(task.place.platform)}
    for position, channel in enumerate(task.channels):
        query = ChannelQuery(task.request, task.place, channel, task.pythons.result())
        put = question_of_channel(
            query, task.wish.options, configuration, task.knowledge, task.wish.mirrors, task.environ
        )
        try:
            nearest = find_nearest(put.question, task.left, releases)
        except Unsatisfiable as error:
            refusals.append(error)
            continue
        # how many others move is no matter: conda takes the channel that stands first
        *rank, _ = Nearness(nearest.question, task.left, releases).rank(nearest.settled[0])
        results.append(((len(nearest.given_up), *rank), position, _Found(put, nearest)))
    if not results:
        raise refusals[0]
    return min(results, key=lambda item: item[:2])[2]


def _plan(
    hit: _Found, changes: tuple[RequirementChange, ...], configuration: IndexConfiguration, task: Task
) -> Plan:
    """Return the plan of the files as they become."""
    file = _environment(task, changes)
    question = hit.nearest.question_for(hit.choice)
    stack = tuple(
        requirement
        for requirement in question.request.requirements
        if requirement not in question.request.others
    )
    pips = tuple(map(Requirement, file.pip))
    question = question.with_request(replace(question.request, requirements=(*stack, *pips)))
    plan = assemble_from_channel(
        question, hit.nearest.decision, hit.choice, configuration, hit.put.builds, file.specs
    )
    wanted = replace(task.wish, file=file)
    plan = replace(plan, warnings=(*plan.warnings, *hit.put.warnings))
    return finished(in_conda(plan, wanted), wanted, task.environ, task.target)


def _environment(task: Task, changes: tuple[RequirementChange, ...]) -> EnvironmentFile:
    files = [file for file in patched(task.left, changes) if file.kind == "environment"]
    read = [environment_of(file, task.place.platform) for file in files]
    return EnvironmentFile(
        stack=tuple(text for file in read for text in file.stack),
        specs=tuple(text for file in read for text in file.specs),
        pip=tuple(text for file in read for text in file.pip),
        channels=tuple(dict.fromkeys(name for file in read for name in file.channels)),
        kept=tuple(pair for file in read[:1] for pair in file.kept),
    )


def _others_changed(
    question: ResolutionInput,
    solution: Solution,
    wishes: Wishes,
    changes: tuple[RequirementChange, ...],
    configuration: IndexConfiguration,
    task: Task,
) -> tuple[tuple[RequirementChange, ...], tuple[PlanWarning, ...]]:
    """Return the changes with those of packages that are not for a conda environment's Python, and warnings.

    PyPI's wheels tell: which releases are for which Python is much the same with conda, whose solver has the
    last word.
    """
    warnings = (PlanWarning(NOT_CHECKED, tr("conda packages were not resolved: conda's solver decides")),)
    stack = Stack(solution, question, wishes, changes, _no_plan)
    changes = without_builds(stack, changes)
    changed = {change.project for change in changes}
    wanted = tuple(
        requirement for requirement in resolvable(stack) if canonicalize_name(requirement.name) not in changed
    )
    if not wanted or task.wish.options.offline:
        return changes, warnings
    sources = sources_of(solution, configuration)
    base = resolver.CompileInput(
        pins=(f"torch=={solution.candidate.torch}",),
        requirements=(),
        constraints=tuple(limits_of_moves(stack, wanted)),
        sources=replace(sources, find_links=()),
        python=solution.python.short,
        platform=question.target.platform,
        interpreter=sys.executable,
        before=task.before,
    )
    for pins in (base.pins, ()):  # PyPI may lack the release of torch that a channel has
        item = Resolver(replace(base, pins=pins), task.environ, task.tell)
        try:
            settled = item.settle(wanted, configuration, foreign_to_pypi(wishes))
        except (Unreachable, InstallFailed):
            break
        if isinstance(settled, Settlement):
            for moved in settled.moved:
                because = Because(why_of(moved, stack), BY_UV)
                changes = moved_changes(moved.project, moved.new, because, wishes, changes)
            break
    return changes, warnings


def _no_plan(question: ResolutionInput, resolved: tuple[PlannedPackage, ...]) -> Plan:
    raise NotImplementedError
