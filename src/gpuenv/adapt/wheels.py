"""The nearest set of wheels for a project."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.adapt.dependencies import (
    Adapted,
    refused,
    resolve_others,
    with_fewest_moves,
    without_builds,
)
from gpuenv.adapt.environment_part import environment_of
from gpuenv.adapt.model import RequirementChange
from gpuenv.adapt.nearest.families import without_families
from gpuenv.adapt.nearest.known_bad_dependencies import with_others_free
from gpuenv.adapt.nearest.line_changes import stack_changes
from gpuenv.adapt.nearest.other_pins import without_needless
from gpuenv.adapt.nearest.ranking import Nearness
from gpuenv.adapt.nearest.request import wishes_for
from gpuenv.adapt.nearest.search import Nearest, find_nearest, nearest_torches
from gpuenv.adapt.stack import WheelStack
from gpuenv.adapt.task import Task
from gpuenv.http import HttpClient
from gpuenv.i18n.messages import N_, tr
from gpuenv.installers import CONDA_MANAGERS
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.knowledge.built_releases import BuiltReleases
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning
from gpuenv.planning.load_knowledge import load_built_releases
from gpuenv.planning.make_plan import completed, in_conda
from gpuenv.planning.pages.listings import PlanListings, list_files
from gpuenv.planning.pages.torch_bound import PageReader
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.plan_builder import build_plan
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.resolution.rules.python import admitted, counts_patches
from gpuenv.resolution.torch_bound_pages import bound_projects
from gpuenv.secrets.url_credentials import redact_credentials

_MOST_CHOICES = 4  # of torch, with which the other packages are tried
_MOST_PYTHONS = 7  # that are tried where any will do


def adapt_wheels(task: Task) -> tuple[Plan, tuple[RequirementChange, ...]]:
    """Return the plan and the changes without risks; raise UsageError, Unsatisfiable or Unreachable."""
    wanted = task.plan_request
    listed = list_files(wanted.options, wanted.request, task.machine_target, task.knowledge, task.environ)
    question = build_input(
        wanted.request, task.machine_target, task.knowledge, listed.listings, task.pythons.result()
    )
    nearest = find_nearest(_with_pages(question, listed, task), task.project, built=_built(task))
    stack, adapted = _first_that_resolves(nearest, task, listed)
    unsolved: tuple[PlanWarning, ...] = ()
    if wanted.request.manager in CONDA_MANAGERS:  # which brings what stands in conda's part
        changes, unsolved = _in_conda(replace(stack, changes=adapted.changes), adapted, task)
        wanted = replace(wanted, file=environment_of(task.project, changes, task.machine_target.platform))
    else:
        changes = without_builds(stack, adapted.changes)
    if task.is_interrupted:
        wanted = replace(wanted, options=replace(wanted.options, offline=True))
    plan = completed(
        _of_patch(adapted.plan, stack),
        adapted.question,
        nearest.decision,
        listed,
        wanted,
        task.environ,
        target=task.target,
    )
    warnings = (*_unread(nearest), *_without_release(nearest, stack.solution), *plan.warnings, *unsolved)
    return replace(plan, warnings=warnings), changes


def _of_patch(plan: Plan, stack: WheelStack) -> Plan:
    """Return the plan with the patch release of Python that the files name, where it has to be brought."""
    python, wanted = stack.solution.python, stack.wishes.python
    names = wanted is not None and counts_patches(wanted) and admitted((python,), wanted)
    if not names or python.path is not None or python.version == python.short:
        return plan
    return replace(plan, python_release=python.version)


def _built(task: Task) -> BuiltReleases | None:
    """Return what is known of other packages without an index; None where uv can ask one."""
    return load_built_releases() if task.plan_request.options.offline else None


def _in_conda(
    stack: WheelStack, adapted: Adapted, task: Task
) -> tuple[tuple[RequirementChange, ...], tuple[PlanWarning, ...]]:
    """Return the changes with those of conda's part, beside which torch is a wheel, and warnings."""
    from gpuenv.adapt.channels.by_channels import by_channels  # noqa: PLC0415 - for conda alone
    from gpuenv.adapt.channels.read import read_packages  # noqa: PLC0415
    from gpuenv.adapt.channels.solved_changes import Draft, draft_of  # noqa: PLC0415
    from gpuenv.resolution.conda.plan_part import with_conda_python  # noqa: PLC0415

    def draft(changes: tuple[RequirementChange, ...]) -> Draft:
        file = environment_of(task.project, changes, task.machine_target.platform)
        plan = with_conda_python(adapted.plan, adapted.question.target, file.specs)
        return draft_of(in_conda(plan, replace(task.plan_request, file=file)), file.specs)

    read = read_packages(task, stack.configuration)
    if read is None:
        return without_builds(stack, stack.changes), ()
    return by_channels(stack, read, task, draft)


def _unread(nearest: Nearest) -> Iterator[PlanWarning]:
    """Warn of the extensions that may be compatible with torch, but could not be looked up."""
    template = N_("{project} is unchanged and was not checked: {page} could not be read ({problem})")
    for listing in nearest.unread:
        page = redact_credentials(listing.page)
        text = tr(template, project=listing.project, page=page, problem=listing.problem)
        yield PlanWarning("unread", text)
    template = N_(
        "{project} is unchanged: no wheel of it is known for this torch, so it may have to be built"
    )
    read = {str(listing.project) for listing in nearest.unread}
    for name in nearest.unknown:
        if name not in read:
            yield PlanWarning("unread", tr(template, project=name))


def _without_release(nearest: Nearest, solution: Solution) -> Iterator[PlanWarning]:
    """Warn of packages that pin torch, of which no release is known for the torch that was chosen."""
    for pin in nearest.moved(solution):
        if pin.text is None and not pin.whole:
            facts = {"project": pin.project, "torch": solution.candidate.torch, "reason": pin.because.text}
            text = tr("no known release of {project} is compatible with torch {torch}: {reason}", **facts)
            yield PlanWarning("no-release", text)


def _with_pages(question: ResolutionInput, listed: PlanListings, task: Task) -> ResolutionInput:
    """Return the question with the pages of extensions, read for one near torch release after another.

    It stops at the first that has all of them, whatever releases of them are asked for.
    """
    names = bound_projects(question.request, question.target, question.pythons, question.knowledge)
    if not names:
        return question
    torches = nearest_torches(question, task.project)
    configuration, offline = listed.configurations[0], task.plan_request.options.offline
    question = question.with_request(replace(question.request, extensions=names))
    with HttpClient(task.environ, access=configuration.access, offline=offline) as client:
        reader = PageReader(tuple(canonicalize_name(name) for name in names), client)
        question = question.with_listings(reader.read(configuration.find_links))
        for torch in torches:
            request = without_families(with_others_free(question.request), question)
            request = request.with_requirement(f"torch=={torch}")
            builds = tuple(item for item in question.candidates if item.torch == torch)
            read = reader.read_on(replace(question.with_request(request), candidates=builds))
            question = question.with_listings(read.listings[len(question.listings) :])
            if decide(read).choices:
                break
    return question


def _first_that_resolves(nearest: Nearest, task: Task, listed: PlanListings) -> tuple[WheelStack, Adapted]:
    """Return the nearest stack with which the other packages resolve, changed as little as possible."""
    failures: list[tuple[Solution, Unresolvable]] = []
    for group in _worth_trying(nearest.choices):
        near = _as_near(group, nearest, task)
        stack = with_fewest_moves(tuple(_stack(nearest, solution, task, listed) for solution in near), task)
        changes = stack_changes(nearest, stack.solution, task.project)
        built = load_built_releases()
        stack = replace(stack, changes=without_needless(changes, stack.solution.python, built))
        outcome = resolve_others(stack, task)
        if isinstance(outcome, Adapted):
            return stack, outcome
        failures.append((stack.solution, outcome))
    raise refused(failures)


def _worth_trying(solutions: tuple[Solution, ...]) -> Iterator[tuple[Solution, ...]]:
    """Yield the choices of one build after another, few builds, each of another torch release."""
    seen: set[Version] = set()
    for solution in solutions:
        if solution.candidate.torch not in seen and len(seen) < _MOST_CHOICES:
            seen.add(solution.candidate.torch)
            yield tuple(item for item in solutions if item.candidate is solution.candidate)


def _as_near(solutions: tuple[Solution, ...], nearest: Nearest, task: Task) -> tuple[Solution, ...]:
    """Return the first choice, and those that differ from it in a Python that is as near."""
    measure = Nearness(nearest.question, task.project, built=_built(task))
    settled = {id(item.solution): item for item in nearest.settled}
    ranks = [measure.rank(settled[id(solution)]) for solution in solutions]
    near = (solution for solution, rank in zip(solutions, ranks, strict=True) if rank == ranks[0])
    return tuple(near)[:_MOST_PYTHONS]


def _stack(nearest: Nearest, solution: Solution, task: Task, listed: PlanListings) -> WheelStack:
    """Return the stack of a choice, without the changes: why each is made is looked up for one alone."""

    def plan_of(question: ResolutionInput, resolved: tuple[PlannedPackage, ...]) -> Plan:
        return build_plan(question, nearest.decision, solution, listed.configurations[0], resolved)

    question = nearest.question_for(solution)
    wishes = wishes_for(task.project, question.target, solution.python)
    return WheelStack(solution, question, wishes, (), listed.configurations[0], plan_of)
