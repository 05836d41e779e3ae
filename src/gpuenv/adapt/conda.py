"""The nearest set for an environment.yml whose torch is conda's, from the channels that have it."""

from __future__ import annotations

import sys

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv import matrices
from gpuenv.adapt.dependencies import (
    BY_UV,
    NOT_CHECKED,
    Stack,
    foreign_to_pypi,
    limits_of_moves,
    resolvable,
    why_of,
    with_known_moves,
    without_builds,
)
from gpuenv.adapt.environment_part import environment_of
from gpuenv.adapt.minimal_upgrades import Settlement
from gpuenv.adapt.model import RequirementChange
from gpuenv.adapt.nearest.line_changes import stack_changes
from gpuenv.adapt.nearest.ranking import Nearness
from gpuenv.adapt.nearest.request import wishes_for
from gpuenv.adapt.nearest.resolver_changes import moved_changes
from gpuenv.adapt.nearest.search import Nearest, find_nearest
from gpuenv.adapt.resolve_dependencies import Resolver
from gpuenv.adapt.task import Task, named_channels
from gpuenv.i18n.messages import tr
from gpuenv.installers.uv_compile import CompileInput
from gpuenv.knowledge.built_releases import BuiltReleases, parse_built_releases
from gpuenv.model.errors import Because, InstallFailed, Unreachable, Unsatisfiable
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning
from gpuenv.planning.conda.plan import ChannelQuery, ChannelQuestion, question_of_channel
from gpuenv.planning.make_plan import finished, in_conda
from gpuenv.planning.pages.listings import configuration_for
from gpuenv.resolution.conda.plan_part import assemble_from_channel, known_build
from gpuenv.resolution.plan_builder import sources_of
from gpuenv.resolution.request import STACK
from gpuenv.resolution.resolve import ResolutionInput


class _ChannelResult(Struct, frozen=True):
    answer: ChannelQuestion
    nearest: Nearest


def adapt_in_conda(task: Task) -> tuple[Plan, tuple[RequirementChange, ...]]:
    """Return the plan and the changes without risks; raise UsageError, Unsatisfiable or Unreachable.

    Which of the other packages are not for the Python is known from wheels: conda's solver alone knows what
    its channels have.
    """
    configuration = configuration_for(task.plan_request.options, task.environ)
    built = parse_built_releases(matrices.load("releases"))
    best = _nearest(task, configuration, built)
    solution = best.nearest.choices[0]
    question = best.nearest.question_for(solution)
    build = known_build(solution, best.answer.builds)
    changes = stack_changes(best.nearest, solution, task.project, task.knowledge, build)
    wishes = wishes_for(task.project, task.machine_target, solution.python)
    warnings: tuple[PlanWarning, ...] = ()
    if changes:
        warnings = (PlanWarning(NOT_CHECKED, tr("conda packages were not resolved: conda's solver decides")),)
        stack = Stack(solution, question, wishes, changes, configuration, _no_plan)
        changes = _others_changed(replace(stack, changes=with_known_moves(stack, built)), task)
    file = environment_of(task.project, changes, task.machine_target.platform)
    own = (item for item in question.request.requirements if canonicalize_name(item.name) in STACK)
    requirements = (*own, *map(Requirement, file.pip))
    question = question.with_request(replace(question.request, requirements=requirements))
    plan = assemble_from_channel(
        question, best.nearest.decision, solution, configuration, best.answer.builds, file.specs
    )
    plan_request = replace(task.plan_request, file=file)
    plan = replace(plan, warnings=(*plan.warnings, *best.answer.warnings))
    plan = finished(in_conda(plan, plan_request), plan_request, task.environ, task.target)
    return replace(plan, warnings=(*plan.warnings, *warnings)), changes


def _nearest(task: Task, configuration: IndexConfiguration, built: BuiltReleases) -> _ChannelResult:
    """Return what is nearest of all channels; raise the first one's refusal.

    Another CUDA of a channel that the file names is nearer than another channel; of equals the first is.
    """
    own, listed = named_channels(task.project)
    results: list[tuple[tuple[object, ...], int, _ChannelResult]] = []
    refusals: list[Unsatisfiable] = []
    releases = {build.torch for build in task.knowledge.builds_of(task.machine_target.platform)}
    plan_request = task.plan_request
    for position, channel in enumerate(task.channels):
        query = ChannelQuery(plan_request.request, task.machine_target, channel, task.pythons.result())
        answer = question_of_channel(
            query, plan_request.options, configuration, task.knowledge, plan_request.mirrors, task.environ
        )
        try:
            nearest = find_nearest(answer.question, task.project, releases, built)
        except Unsatisfiable as error:
            refusals.append(error)
            continue
        # how many others move does not matter: conda prefers the channel that stands first
        *rank, _ = Nearness(nearest.question, task.project, releases, built).rank(nearest.settled[0])
        torch, companions, bonds, python, *rest = rank
        other = channel not in (own or listed)
        key = (len(nearest.given_up), torch, companions, bonds, python, other, *rest)
        results.append((key, position, _ChannelResult(answer, nearest)))
    if not results:
        raise refusals[0]
    return min(results, key=lambda item: item[:2])[2]


def _others_changed(stack: Stack, task: Task) -> tuple[RequirementChange, ...]:
    """Return the changes with those of packages that are not for a conda environment's Python.

    Which releases are for which Python is much the same on PyPI; conda's solver has the last word.
    """
    changes = without_builds(stack, stack.changes)
    changed = {change.project for change in changes}
    wanted = tuple(item for item in resolvable(stack) if canonicalize_name(item.name) not in changed)
    if not wanted or task.plan_request.options.offline:
        return changes
    base = CompileInput(
        pins=(f"torch=={stack.solution.candidate.torch}",),
        requirements=(),
        constraints=tuple(limits_of_moves(stack, wanted)),
        sources=replace(sources_of(stack.solution, stack.configuration), find_links=()),
        python=stack.solution.python.short,
        platform=stack.question.target.platform,
        interpreter=sys.executable,
        before=task.before,
    )
    foreign = foreign_to_pypi(stack.wishes)
    for pins in (base.pins, ()):  # PyPI may lack the release of torch that a channel has
        resolver = Resolver(replace(base, pins=pins), task.environ, task.tell)
        try:
            settled = resolver.settle(wanted, stack.configuration, foreign)
        except (Unreachable, InstallFailed):
            break
        except KeyboardInterrupt:
            if not task.is_interrupted:
                raise
            break
        if isinstance(settled, Settlement):
            for moved in settled.moved:
                because = Because(why_of(moved, stack), BY_UV)
                changes = moved_changes(moved.project, moved.new, because, stack.wishes, changes)
            break
    return changes


def _no_plan(question: ResolutionInput, resolved: tuple[PlannedPackage, ...]) -> Plan:
    raise NotImplementedError
