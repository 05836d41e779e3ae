"""The user's other requirements, resolved with the torch stack fixed: the next torch where that fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import clauses, series, tr
from gpuenv.installers.uv_compile import Resolved, ResolvedFile
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import Because, Fix, Unsatisfiable
from gpuenv.model.plan import HeldFiles, Plan, PlannedPackage, PlanWarning, Rejection
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.direct_urls import warn_of_building, warn_of_unresolved
from gpuenv.resolution.rules.platform_tags import fits_name
from gpuenv.resolution.target import Target

if TYPE_CHECKING:
    from gpuenv.model.locked import LockedFile

_MOST_TRIES = 25
_MOST_BUILDS = 2
_WORD = re.compile(r"[\w.-]+")
_STACK_NAMES = ("torch", "torchvision", "torchaudio", "torchtext", "torchdata")


class FailedSolution(Struct, frozen=True):
    """A solution with which the other requirements cannot be resolved."""

    solution: Solution
    outcome: Unresolvable


PlanFor = Callable[[Solution, tuple[PlannedPackage, ...]], Plan]
# resolves a plan; of the projects named, none may be built
Compile = Callable[[Plan, tuple[str, ...]], Resolved | Unresolvable]
HasWheels = Callable[[ResolvedFile], bool]


def resolve_jointly(
    solutions: Sequence[Solution], plan_for: PlanFor, compile_plan: Compile, has_wheels: HasWheels
) -> Plan:
    """Return the plan of the first choice with which everything can be resolved.

    Solutions that would fail for the same reason are skipped. `has_wheels` tells whether a release that would
    be built has wheels for some Python: then the next Python is used. Raises Unsatisfiable if none is left,
    or none can help.
    """
    failures: list[FailedSolution] = []
    for solution in _worth_trying(solutions, failures):
        outcome = compile_plan(plan_for(solution, ()), ())
        if isinstance(outcome, Resolved):
            built = _built_for_want_of_a_wheel(outcome, has_wheels)
            plan = _with_warnings(plan_for(solution, packages_of(outcome)), outcome, built)
            if built:
                search = _WheelSearch(built, plan_for, compile_plan, has_wheels)
                plan = search.find(solution, solutions) or _with_build_warning(plan, built)
            return _with_failures(plan, failures)
        failures.append(FailedSolution(solution, outcome))
        if not _may_help(failures):
            break
    raise _refuse(failures)


def _with_warnings(plan: Plan, outcome: Resolved, warned: tuple[ResolvedFile, ...]) -> Plan:
    """Return the plan with warnings of what its resolution left out, and of what it built."""
    built = tuple(
        f"{file.name} {file.version}" for file in outcome.files if file.sdist and file not in warned
    )
    # sources by address that a wheel needs, of which uv could read what they need without running them
    led_to = (f"{file.name} @ {file.url}" for file in outcome.files if _is_sources(file))
    more = (*warn_of_unresolved((*outcome.left_out, *led_to)), *warn_of_building(built))
    return replace(plan, warnings=(*plan.warnings, *more), held=held_files(outcome, plan))


def held_files(outcome: Resolved, plan: Plan) -> HeldFiles | None:
    """Return what uv is to install beside the stack: the files resolved, if an index has each by its hash."""
    if plan.manager != "uv" or plan.conda is not None or outcome.left_out:
        return None
    pinned = {canonicalize_name(package.name) for package in plan.packages[: len(plan.pins)]}
    others = tuple(file for file in outcome.files if canonicalize_name(file.name) not in pinned)
    if not others or any(file.direct or not (file.version and file.sha256) for file in others):
        return None
    return HeldFiles(None, complete=True, packages=tuple(map(planned_file, others)))


def _is_sources(file: ResolvedFile) -> bool:
    return not file.sdist and file.filename is not None and not file.filename.lower().endswith(".whl")


def _built_for_want_of_a_wheel(outcome: Resolved, has_wheels: HasWheels) -> tuple[ResolvedFile, ...]:
    """Return what would be built although the index has wheels of it for some Python."""
    return tuple(file for file in outcome.files if file.sdist and has_wheels(file))


def _of_other_pythons(choice: Solution, solutions: Sequence[Solution]) -> tuple[Solution, ...]:
    """Return one choice of the same torch for each other Python, the preferred first."""
    others: dict[str, Solution] = {}
    for solution in solutions:
        if (
            solution.candidate.torch == choice.candidate.torch
            and solution.python.short != choice.python.short
        ):
            others.setdefault(solution.python.short, solution)
    return tuple(others.values())


class _WheelSearch(Struct, frozen=True):
    """Looks for a plan with wheels of what would be `built`."""

    built: tuple[ResolvedFile, ...]
    plan_for: PlanFor
    compile_plan: Compile
    has_wheels: HasWheels

    def find(self, solution: Solution, solutions: Sequence[Solution]) -> Plan | None:
        """Return a plan with wheels of the same releases for the next Python, else of older ones for this."""
        same = tuple(f"{file.name}=={file.version}" for file in self.built)
        for other in _of_other_pythons(solution, solutions):
            plan = self._resolve(other, same)
            if plan:
                facts = {"packages": _named(self.built), "python": plan.python}
                because = Because(tr("{packages}: wheels are for Python {python}", **facts), "uv pip compile")
                return replace(plan, why=(*plan.why, because))
        return self._resolve(solution, ())

    def _resolve(self, solution: Solution, pins: tuple[str, ...]) -> Plan | None:
        """Return the plan, with the releases that have wheels pinned: an installer would build newer ones."""
        plan = self.plan_for(solution, ())
        names = tuple(file.name for file in self.built)
        outcome = self.compile_plan(replace(plan, constraints=(*plan.constraints, *pins)), names)
        if not isinstance(outcome, Resolved) or _built_for_want_of_a_wheel(outcome, self.has_wheels):
            return None
        values = tuple(f"{file.name}=={file.version}" for file in outcome.files if file.name in names)
        plan = _with_warnings(self.plan_for(solution, packages_of(outcome)), outcome, ())
        return replace(plan, constraints=(*plan.constraints, *values))


def _with_build_warning(plan: Plan, built: tuple[ResolvedFile, ...]) -> Plan:
    text = tr(
        "{packages}: no wheel for Python {python}; it is built during installation, which may fail",
        packages=_named(built),
        python=plan.python,
    )
    return replace(plan, warnings=(*plan.warnings, PlanWarning("no-wheel", text)))


def _named(files: tuple[ResolvedFile, ...]) -> str:
    return series(f"{file.name} {file.version}" for file in files)


def _worth_trying(solutions: Sequence[Solution], failures: list[FailedSolution]) -> Iterator[Solution]:
    """Yield one choice a torch release and Python, as long as no demand that was learned rules it out."""
    seen = set()
    for solution in solutions:
        key = (solution.candidate.torch, solution.python.short)
        if key in seen or any(_is_ruled_out(solution, failed) for failed in failures):
            continue
        if len(failures) >= _MOST_TRIES:
            return
        seen.add(key)
        yield solution


def _may_help(failures: list[FailedSolution]) -> bool:
    """Whether another torch or Python may help; each build may fetch gigabytes and take minutes to fail."""
    last = failures[-1].outcome
    if last.unbuilt is not None:
        return sum(failed.outcome.unbuilt is not None for failed in failures) < _MOST_BUILDS
    # uv's explanation names one of them; a requirement that no index has, or two that contradict each other,
    # fail with every torch
    words = {word.lower() for word in _WORD.findall(last.message)}
    return not words.isdisjoint((*_STACK_NAMES, "python"))


def _is_ruled_out(solution: Solution, failed: FailedSolution) -> bool:
    """Whether a choice would fail as another did: what can't be built fails so with any torch."""
    if failed.outcome.unbuilt is not None:
        return solution.python.short == failed.solution.python.short
    # whether it meets what other packages require of torch, as far as a failure showed
    demands = (_parse(demand.needs) for demand in failed.outcome.demands_on(("torch",)))
    return not all(
        demand is None or demand.specifier.contains(solution.candidate.torch) for demand in demands
    )


def _parse(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def only_fitting(outcome: Resolved | Unresolvable, target: Target) -> Resolved | Unresolvable:
    """Return what was resolved, or that one of its wheels does not fit: uv knows no glibc below 2.17."""
    if not isinstance(outcome, Resolved):
        return outcome
    names = (file.filename for file in outcome.files if file.filename)
    name = next((item for item in names if not fits_name(item, target)), None)
    if name is None:
        return outcome
    libc = sorted({f"{machine.system.libc} {machine.system.libc_version}" for machine in target.machines})
    return Unresolvable(tr("{file} does not run with {there}", file=name, there=series(libc)), ())


def packages_of(resolved: Resolved) -> tuple[PlannedPackage, ...]:
    """Return the files that the resolver chose, as the plan names them."""
    return tuple(planned_file(file) for file in resolved.files)


def planned_file(file: ResolvedFile | LockedFile) -> PlannedPackage:
    """Return a file beside the torch stack as the plan names it."""
    return PlannedPackage(
        name=file.name,
        version=file.version,
        variant=None,
        index=file.index,
        filename=file.filename,
        url=file.url,
        sha256=file.sha256,
        size=file.size,
        evidence="wheel",
    )


def _with_failures(plan: Plan, failures: list[FailedSolution]) -> Plan:
    rejected = tuple(
        Rejection("torch", str(build.torch), str(build.variant), "request", _reason(failed), "uv pip compile")
        for failed in failures
        for build in (failed.solution.candidate,)
    )
    return replace(plan, rejected=rejected + plan.rejected)


def _reason(failed: FailedSolution) -> str:
    if failed.outcome.unbuilt is not None:
        return _cannot_be_built(failed)
    demands = failed.outcome.demands_on(_STACK_NAMES) or failed.outcome.demands
    if demands:
        return clauses(
            tr("{package} requires {needs}", package=demand.package, needs=demand.needs) for demand in demands
        )
    return failed.outcome.message


def _cannot_be_built(failed: FailedSolution) -> str:
    return tr(
        "`{package}` has no wheel for Python {python}, and building it failed",
        package=failed.outcome.unbuilt,
        python=failed.solution.python.short,
    )


def _refuse_unbuilt(failures: list[FailedSolution]) -> Unsatisfiable:
    """Refuse what cannot be built, with uv's message about the last attempt."""
    package = failures[-1].outcome.unbuilt
    tried = (failed for failed in failures if failed.outcome.unbuilt is not None)
    texts = (*map(_cannot_be_built, tried), failures[-1].outcome.message)
    return Unsatisfiable(
        tr("`{package}` cannot be installed on this machine", package=package),
        code="build-failed",
        because=tuple(Because(text, "uv pip compile") for text in dict.fromkeys(texts)),
        fixes=(Fix(tr("request a release of it that has wheels, or remove it")),),
        data={"message": failures[-1].outcome.message},
    )


def _refuse(failures: list[FailedSolution]) -> Unsatisfiable:
    if failures and failures[-1].outcome.unbuilt is not None:
        return _refuse_unbuilt(failures)
    texts = dict.fromkeys(
        tr("with torch {torch}: {reason}", torch=failed.solution.candidate.torch, reason=_reason(failed))
        for failed in failures[:3]
    )
    return Unsatisfiable(
        tr("no torch that runs here is compatible with the other requirements"),
        code="requirements-conflict",
        because=tuple(Because(text, "uv pip compile") for text in texts),
        fixes=(Fix(tr("relax or remove the requirement named above")),),
        data={"message": failures[0].outcome.message if failures else None},
    )
