"""The nearest set for an environment.yml whose torch is conda's, from the channels that have it."""

from __future__ import annotations

import sys

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.adapt.channels.by_channels import by_channels
from gpuenv.adapt.channels.judged_lines import with_channels, without_channels
from gpuenv.adapt.channels.read import read_packages
from gpuenv.adapt.channels.solved_changes import Draft, draft_of, not_solved
from gpuenv.adapt.dependencies import (
    BY_UV,
    limits_of_moves,
    resolvable,
    why_of,
    with_known_moves,
    without_builds,
)
from gpuenv.adapt.environment_part import environment_of
from gpuenv.adapt.minimal_upgrades import Settlement
from gpuenv.adapt.model import DeclaredRequirement, RequirementChange
from gpuenv.adapt.nearest.line_changes import stack_changes
from gpuenv.adapt.nearest.other_pins import without_needless
from gpuenv.adapt.nearest.ranking import Nearness
from gpuenv.adapt.nearest.request import wishes_for
from gpuenv.adapt.nearest.resolver_changes import moved_changes
from gpuenv.adapt.nearest.search import Nearest, find_nearest
from gpuenv.adapt.resolve_dependencies import Resolver
from gpuenv.adapt.stack import Stack
from gpuenv.adapt.task import Task, named_channels
from gpuenv.i18n.messages import tr
from gpuenv.installers import uv
from gpuenv.installers.uv_compile import CompileInput
from gpuenv.knowledge.built_releases import BuiltReleases
from gpuenv.model.conda import EnvironmentFile
from gpuenv.model.errors import Because, InstallFailed, Unreachable, Unsatisfiable
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.conda.plan import ChannelQuery, ChannelQuestion, question_of_channel
from gpuenv.planning.load_knowledge import load_built_releases
from gpuenv.planning.make_plan import finished, in_conda
from gpuenv.planning.pages.listings import configuration_for
from gpuenv.resolution.conda.plan_part import assemble_from_channel, known_build
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.plan_builder import sources_of
from gpuenv.resolution.request import STACK


class _ChannelResult(Struct, frozen=True):
    answer: ChannelQuestion
    nearest: Nearest


def adapt_in_conda(task: Task) -> tuple[Plan, tuple[RequirementChange, ...]]:
    """Return the plan and the changes without risks; raise UsageError, Unsatisfiable or Unreachable.

    The other packages are judged by what the channels have, and solved, where those can be read and a solver
    is here; else by what is known of the releases on PyPI.
    """
    configuration = configuration_for(task.plan_request.options, task.environ)
    built = load_built_releases()
    read, declared = read_packages(task, configuration), task.project.declared
    known = with_channels(built, read.packages(), declared, task.pythons.result()) if read else built
    best = _nearest(task, configuration, known)
    solution = best.nearest.choices[0]
    question = best.nearest.question_for(solution)
    build = known_build(solution, best.answer.builds)
    changes = stack_changes(best.nearest, solution, task.project, task.knowledge, build)
    changes = without_needless(changes, solution.python, built)
    wishes = wishes_for(task.project, task.machine_target, solution.python)
    stack = Stack(solution, question, wishes, changes, configuration)
    drafting = _Drafting(task, best, solution, configuration)
    if read:
        names = tuple(channel.name for channel in drafting.draft(changes).part.channels)
        unread = without_channels(built, read.packages(names), declared)
        stack = replace(stack, changes=with_known_moves(stack, unread))
        changes, warnings = by_channels(stack, read, task, drafting.draft)
    else:
        changes, warnings = _by_releases(stack, built)
    changes = _pip_changed(replace(stack, changes=changes), task)
    plan = finished(drafting.plan(changes), task.plan_request, task.environ, task.target)
    return replace(plan, warnings=(*plan.warnings, *warnings)), changes


class _Drafting(Struct, frozen=True):
    """Makes plans of one choice for files as they become."""

    task: Task
    best: _ChannelResult
    solution: Solution
    configuration: IndexConfiguration

    def plan(self, changes: tuple[RequirementChange, ...]) -> Plan:
        """Return the plan, without steps."""
        return self._plan_of(environment_of(self.task.project, changes, self.task.machine_target.platform))

    def draft(self, changes: tuple[RequirementChange, ...]) -> Draft:
        """Return what is asked of conda."""
        file = environment_of(self.task.project, changes, self.task.machine_target.platform)
        return draft_of(self._plan_of(file), file.specs)

    def _plan_of(self, file: EnvironmentFile) -> Plan:
        answer, nearest = self.best.answer, self.best.nearest
        question = nearest.question_for(self.solution)
        own = (item for item in question.request.requirements if canonicalize_name(item.name) in STACK)
        requirements = (*own, *map(Requirement, file.pip))
        question = question.with_request(replace(question.request, requirements=requirements))
        plan = assemble_from_channel(
            question, nearest.decision, self.solution, self.configuration, answer.builds, file.specs
        )
        plan = replace(plan, warnings=(*plan.warnings, *answer.warnings))
        return in_conda(plan, replace(self.task.plan_request, file=file))


def _by_releases(
    stack: Stack, built: BuiltReleases
) -> tuple[tuple[RequirementChange, ...], tuple[PlanWarning, ...]]:
    """Return the changes by what is known of releases without a channel, and a warning."""
    if not stack.changes and not without_builds(stack, ()):
        return (), ()
    changes = without_builds(stack, with_known_moves(stack, built))
    return changes, (not_solved(tr("conda's solver decides")),)


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


def _pip_changed(stack: Stack, task: Task) -> tuple[RequirementChange, ...]:
    """Return the changes with those of the pip part's packages that are not for the Python."""
    names = {name for name, lines in stack.wishes.lines.items() if any(map(_is_pips, lines))}
    changed = {change.project for change in stack.changes}
    others = ((canonicalize_name(item.name), item) for item in resolvable(stack))
    wanted = tuple(item for name, item in others if name in names and name not in changed)
    if not wanted or task.plan_request.options.offline or task.is_interrupted:
        return stack.changes
    base = CompileInput(
        pins=(f"torch=={stack.solution.candidate.torch}",),
        requirements=(),
        constraints=tuple(limits_of_moves(stack, wanted)),
        sources=replace(sources_of(stack.solution, stack.configuration, uv.NAME), find_links=()),
        python=stack.solution.python.short,
        platform=stack.question.target.platform,
        interpreter=sys.executable,
        before=task.before,
    )
    changes = stack.changes
    for pins in (base.pins, ()):  # PyPI may lack the release of torch that a channel has
        resolver = Resolver(replace(base, pins=pins), task.environ, task.tell)
        try:
            settled = resolver.settle(wanted, stack.configuration, frozenset())
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


def _is_pips(line: DeclaredRequirement) -> bool:
    return line.notation != "conda"
