"""The plan of a choice with the other packages that were left, changed where they must be."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace
from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.adapt.minimal_upgrades import Moves, PackageUpgrade, Settlement
from gpuenv.adapt.model import RequirementChange
from gpuenv.adapt.nearest.known_bad_dependencies import settle, with_others_free
from gpuenv.adapt.nearest.other_pins import moved_with_python, moved_with_torch
from gpuenv.adapt.nearest.other_systems import changed_from_other_system
from gpuenv.adapt.nearest.request import Wishes, is_page_of_torch
from gpuenv.adapt.nearest.resolver_changes import freed_of_builds, moved_changes, removed_changes, why_moved
from gpuenv.adapt.resolve_dependencies import Resolver
from gpuenv.adapt.stack import Stack, WheelStack
from gpuenv.adapt.task import Task
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.knowledge.built_releases import BuiltReleases
from gpuenv.model.errors import Because, Fix, InstallFailed, Unreachable, Unsatisfiable
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.load_knowledge import load_built_releases
from gpuenv.planning.pages.direct_urls import with_direct_urls
from gpuenv.planning.resolve_others import packages_of
from gpuenv.planning.steps import resolver_question
from gpuenv.resolution.constraints import constraints_of
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules.python import full_version

BY_UV = "uv pip compile"
NOT_CHECKED = "not-checked"
_BUILT = "built-from-source"


class Adapted(Struct, frozen=True):
    """A plan of a stack and all else, and every change that it takes; the plan has no steps yet."""

    plan: Plan
    question: ResolutionInput
    changes: tuple[RequirementChange, ...]


def resolve_others(stack: WheelStack, task: Task) -> Adapted | Unresolvable:
    """Return the plan with the fewest changes of other packages, or uv's words where nothing helps.

    Where no index can be read, the others stay as they are, and a warning says that they were not checked.
    """
    plan = stack.assemble(stack.question, ())
    wanted = tuple(resolvable(stack))
    if not wanted:
        return _with_url_warning(Adapted(plan, stack.question, stack.changes), stack)
    if task.plan_request.options.offline or task.is_interrupted:
        return _unchecked(stack, _why_unchecked(task))
    try:
        settled = _resolver(stack, plan, wanted, task).settle(
            wanted, stack.configuration, foreign_to_pypi(stack.wishes)
        )
    except KeyboardInterrupt:
        if not task.is_interrupted:
            raise
        return _unchecked(stack, _why_unchecked(task))
    except (Unreachable, InstallFailed) as error:
        is_uvs = isinstance(error, InstallFailed) and error.because
        return _unchecked(stack, error.because[0].text if is_uvs else error.message)
    if isinstance(settled, Unresolvable):
        return settled
    return _with_url_warning(_adapted(stack, settled, pinned=task.before is not None), stack)


def with_fewest_moves(stacks: tuple[WheelStack, ...], task: Task) -> WheelStack:
    """Return the stack, of some that are equally near, that the other packages go with best.

    Of those that were tried, where it was interrupted.
    """
    first = stacks[0]
    if len(stacks) == 1 or task.plan_request.options.offline or not any(resolvable(first)):
        return first
    results: list[tuple[Moves, int]] = []
    for position, stack in enumerate(stacks):
        try:
            moves = _moves(stack, task)
        except KeyboardInterrupt:
            if not task.is_interrupted:
                raise
            break
        if moves is not None:
            if moves.count == 0:
                return stack
            results.append((moves, position))
    return stacks[min(results)[1]] if results else first


def _moves(stack: WheelStack, task: Task) -> Moves | None:
    wanted = tuple(resolvable(stack))
    try:
        resolver = _resolver(stack, stack.assemble(stack.question, ()), wanted, task)
        return resolver.count(wanted, stack.configuration, foreign_to_pypi(stack.wishes))
    except (Unreachable, InstallFailed):
        return None


def _resolver(stack: WheelStack, plan: Plan, wanted: tuple[Requirement, ...], task: Task) -> Resolver:
    """Return the resolver for a stack; what a package may become must not be known to fail with it."""
    named = with_direct_urls(plan, load_mirrors(task.environ))
    base = resolver_question(named, task.plan_request.options)
    constraints = dict.fromkeys((*base.constraints, *limits_of_moves(stack, wanted)))
    base = replace(base, constraints=tuple(constraints), before=task.before)
    return Resolver(base, task.environ, task.tell)


def limits_of_moves(stack: Stack, wanted: tuple[Requirement, ...]) -> Iterator[str]:
    """Yield what is known to fail with the stack of releases that wanted packages may move to: `numpy<2`."""
    free = stack.question.with_request(with_others_free(stack.question.request))
    settled = settle(stack.solution, stack.solution.companions, free)
    names = {canonicalize_name(requirement.name) for requirement in wanted}
    for text, _ in constraints_of(free, settled.solution) if settled else ():
        if canonicalize_name(Requirement(text).name) in names:
            yield text


def with_known_moves(stack: Stack, built: BuiltReleases) -> tuple[RequirementChange, ...]:
    """Return the changes with those of packages that are known not to go with the Python, torch or CUDA."""
    bounds = bounds_of_moves(stack)
    changes = moved_with_python(stack.solution, stack.wishes, stack.changes, built, bounds)
    return moved_with_torch(stack.solution, stack.wishes, changes, built)


def bounds_of_moves(stack: Stack) -> dict[str, SpecifierSet]:
    """Return what is known to fail with the stack of releases that packages may move to, by project."""
    limits = map(Requirement, limits_of_moves(stack, tuple(_active(stack))))
    return {str(canonicalize_name(limit.name)): limit.specifier for limit in limits}


def without_builds(stack: Stack, changes: tuple[RequirementChange, ...]) -> tuple[RequirementChange, ...]:
    """Return the changes with those of an export's lines, whose builds are for another Python or system."""
    bounds = bounds_of_moves(stack)
    changes = freed_of_builds(stack.wishes, stack.solution.python.short, changes, bounds)
    if not any(line.notation == "conda" for lines in stack.wishes.lines.values() for line in lines):
        return changes
    built = load_built_releases()
    return changed_from_other_system(stack.wishes, stack.question.target.platform, built, changes)


def refused(failures: list[tuple[Solution, Unresolvable]]) -> Unsatisfiable:
    """Return the error of files whose packages go together with no torch that is near."""
    texts = (
        tr("with torch {torch}: {reason}", torch=solution.candidate.torch, reason=outcome.message[:600])
        for solution, outcome in failures
    )
    return Unsatisfiable(
        tr("the other packages of the project cannot be installed together"),
        code="requirements-conflict",
        because=tuple(Because(text, BY_UV) for text in dict.fromkeys(texts)),
        fixes=(Fix(tr("relax or remove the requirement named above")),),
        data={"message": failures[0][1].message},
    )


def _active(stack: Stack) -> Iterator[Requirement]:
    """Yield what is asked for beside the stack on this system with this Python."""
    pinned = {str(item.file.name) for item in stack.solution.files}
    environment = marker_environment(stack.question.target.platform, str(full_version(stack.solution.python)))
    for requirement in stack.question.request.others:
        if canonicalize_name(requirement.name) not in pinned and _counts(requirement, environment):
            yield requirement


def _counts(requirement: Requirement, environment: dict[str, str]) -> bool:
    try:
        return requirement.marker is None or requirement.marker.evaluate(environment)
    except (ValueError, UndefinedEnvironmentName):
        return True


def resolvable(stack: Stack) -> Iterator[Requirement]:
    """Leave out what comes from an address: it would be fetched and built only to be looked at."""
    return (requirement for requirement in _active(stack) if requirement.url is None)


def foreign_to_pypi(wishes: Wishes) -> frozenset[str]:
    """Return the projects that only conda is asked for, by conda's names."""
    notations = ((name, {line.notation for line in lines}) for name, lines in wishes.lines.items())
    return frozenset(name for name, named in notations if named == {"conda"})


def _why_unchecked(task: Task) -> str:
    return tr("it was interrupted") if task.is_interrupted else tr("offline mode was requested")


def _unchecked(stack: WheelStack, reason: str) -> Adapted:
    """Return the plan without a resolution; of other packages those move that are not for the Python."""
    built = load_built_releases()
    changes = moved_with_python(stack.solution, stack.wishes, stack.changes, built, bounds_of_moves(stack))
    question, moved = stack.question, changes[len(stack.changes) :]
    names = {canonicalize_name(requirement.name) for requirement in question.request.others}
    for change in (item for item in moved if item.new is not None and item.project in names):
        question = question.with_request(question.request.with_requirement(str(change.new)))
    plan, warning = stack.assemble(question, ()), _not_checked(reason, moved=bool(moved))
    return Adapted(replace(plan, warnings=(*plan.warnings, warning)), question, changes)


def _not_checked(reason: str, *, moved: bool = False) -> PlanWarning:
    beyond = N_("the other packages were not checked beyond the moves that are named: {reason}")
    unmoved = N_("the other packages of the project are unchanged and were not checked: {reason}")
    return PlanWarning(NOT_CHECKED, tr(beyond if moved else unmoved, reason=reason))


def _with_url_warning(adapted: Adapted, stack: Stack) -> Adapted:
    """Warn of what comes from an address, which no resolver looked at."""
    named = [requirement.name for requirement in _active(stack) if requirement.url is not None]
    if not named:
        return adapted
    text = tr("{packages}: direct URLs, unchanged and not checked", packages=series(named))
    plan = adapted.plan
    return replace(adapted, plan=replace(plan, warnings=(*plan.warnings, PlanWarning(NOT_CHECKED, text))))


def _adapted(stack: WheelStack, settled: Settlement, *, pinned: bool) -> Adapted:
    question, changes = stack.question, stack.changes
    for upgrade in settled.moved:
        because = Because(why_of(upgrade, stack), BY_UV)
        changes = moved_changes(upgrade.project, upgrade.new, because, stack.wishes, changes)
        request = question.request.with_requirement(f"{upgrade.project}=={upgrade.new}")
        question = question.with_request(request)
    for name in settled.absent:
        question = question.with_request(question.request.without_project(name))
    foreign = set(settled.absent) & foreign_to_pypi(stack.wishes)
    gone = set(settled.absent) - foreign
    unlisted = gone if _has_own_index(stack.wishes) else set()
    for name in sorted(gone - unlisted):
        because = Because(tr("the index that was read has no {package}", package=name), BY_UV)
        changes = removed_changes(name, because, stack.wishes, changes)
    notes = (
        (NOT_CHECKED, N_("{packages}: conda packages, unchanged and not checked"), sorted(foreign)),
        (NOT_CHECKED, N_("{packages}: not on the index that was read; left unchanged"), sorted(unlisted)),
        (_BUILT, N_("{packages}: built during installation because there are no wheels"), settled.built),
    )
    texts = ((code, tr(text, packages=series(names))) for code, text, names in notes if names)
    warnings = [PlanWarning(code, text) for code, text in texts]
    if settled.unbuilt:
        names = series(settled.unbuilt)
        warnings.append(
            _not_checked(tr("{packages}: could not be built to read their metadata", packages=names))
        )
    plan = stack.assemble(question, packages_of(settled.resolved))
    plan = _exactly(plan) if pinned else plan
    return Adapted(replace(plan, warnings=(*plan.warnings, *warnings)), question, changes)


def _exactly(plan: Plan) -> Plan:
    """Return the plan with all that was resolved named exactly: an installer knows nothing of the day."""
    others = plan.packages[len(plan.pins) :]
    named = {canonicalize_name(package.name) for package in others}
    kept = (text for text in plan.requirements if canonicalize_name(Requirement(text).name) not in named)
    return replace(plan, requirements=(*kept, *(f"{package.name}=={package.version}" for package in others)))


def _has_own_index(wishes: Wishes) -> bool:
    """Whether the files name an index that may have what the others lack."""
    lines = (line for line in wishes.lines.get("index", ()) if line.notation != "conda")
    return any(not is_page_of_torch(line.requirement or line.text) for line in lines)


def why_of(moved: PackageUpgrade, stack: Stack) -> str:
    """Return why a package could not stay as it was asked for."""
    python = stack.solution.python.short
    requested = str(stack.wishes.of(moved.project)).removeprefix("==")
    if moved.because is None:
        return tr("it is not compatible with the others on Python {python}", python=python)
    demands = tuple(
        tr("{package} requires {needs}", package=demand.package, needs=demand.needs)
        for demand in moved.because.demands
        if moved.project in (demand.package.partition("=")[0], Requirement(demand.needs).name)
    )
    return why_moved(moved.project, requested, moved.because.message, demands, python)
