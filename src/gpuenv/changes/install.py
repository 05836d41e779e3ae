"""`gpuenv install`: add packages to an environment; the torch stack stays, or moves with --torch."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.changes.conda_packages import check_installable, named, needs_another_torch, shown
from gpuenv.changes.move_torch import move_torch
from gpuenv.changes.open_environment import ChangeOptions, Opened, plan_options, sources_of, with_its_python
from gpuenv.changes.resolve import (
    ChangeRequest,
    PlannedChange,
    decide_changes,
    held_pins,
    special_names,
    with_files,
)
from gpuenv.i18n.messages import tr
from gpuenv.installers.dry_run import PackageChange
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import Because, Fix, Unsatisfiable
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.make_plan import make_plan
from gpuenv.resolution.direct_urls import refuse_building
from gpuenv.resolution.request import STACK, admits

_ROUNDS = 5
_ASKED = "command line"


class Conflict(Struct, frozen=True):
    """Why something does not go with the torch that is there."""

    because: tuple[Because, ...]
    torch: bool = True  # whether another torch may help


def plan_install(
    opened: Opened, new: tuple[Requirement, ...], options: ChangeOptions, environ: Mapping[str, str]
) -> PlannedChange:
    """Return the change that installs `new` next to all installed packages.

    The torch stack stays where it can; only with `options.torch` is it moved, and decided as `create` does.
    For a program that needs one package more, such as a Jupyter kernel's `ipykernel`:

        opened = open_environment(name, environ, change=True)
        planned = plan_install(opened, (Requirement("ipykernel"),), ChangeOptions(), environ)
        apply_change(planned, environ, ApplyOptions())

    Raises UsageError, Unsatisfiable (`torch-held` where another torch would help) and Unreachable.
    """
    check_installable(opened, new)
    if options.only_binary:
        refuse_building(map(str, new))
    change = _held(opened, new, options, environ)
    if isinstance(change, PlannedChange):
        return with_files(change, environ)
    if not change.torch:
        raise _refused(opened, new, change)
    if opened.is_condas:
        raise needs_another_torch(new, change.because)
    moved = _moved(opened, new, change, options, environ)
    if not options.torch:
        raise _torch_held(opened, new, change, moved)
    return with_files(moved, environ)


def _held(
    opened: Opened, new: tuple[Requirement, ...], options: ChangeOptions, environ: Mapping[str, str]
) -> PlannedChange | Conflict:
    """Return the change that leaves the torch stack alone, or what stands against it."""
    special = special_names(environ)
    contradicted = _contradicted(opened, new)
    if contradicted:
        return Conflict(contradicted)
    requirements = {**opened.requirements, **named(new)}
    request = ChangeRequest(
        pins=held_pins(opened, special),
        requirements={name: str(requirement) for name, requirement in requirements.items()},
        sources=sources_of(opened, options, environ),
        offline=options.offline,
    )
    wanted = {
        name: requirement
        for name, requirement in named(new).items()
        if name in special and name not in opened.versions
    }
    for _ in range(_ROUNDS):
        if wanted:
            try:
                request = _with_builds(opened, request, tuple(wanted.values()), options, environ)
            except Unsatisfiable as error:
                return Conflict((Because(error.message, "gpuenv plan"), *error.because))
        changes, warnings = _decided(opened, request, new, environ)
        if isinstance(changes, Unresolvable):
            return Conflict(because_of(changes), torch=concerns_torch(changes))
        brought = {change.name for change in changes if change.after and change.name in special} - set(
            request.pins
        )
        if not brought:
            return PlannedChange(
                opened, request, changes, _requested_afterwards(opened, new), warnings=warnings
            )
        wanted |= {name: Requirement(name) for name in brought}
    raise AssertionError(wanted)  # each round pins what the last has added


def _decided(
    opened: Opened, request: ChangeRequest, new: tuple[Requirement, ...], environ: Mapping[str, str]
) -> tuple[tuple[PackageChange, ...] | Unresolvable, tuple[PlanWarning, ...]]:
    """Return the changes; what is installed does not have to hold together where it never did."""
    changes = decide_changes(opened, request, environ)
    if not isinstance(changes, Unresolvable):
        return changes, ()
    fresh = named(new)
    before = {name: text for name, text in request.requirements.items() if name not in fresh}
    pins = {name: pin for name, pin in request.pins.items() if name in opened.versions}
    baseline = decide_changes(opened, replace(request, requirements=before, pins=pins), environ)
    if not isinstance(baseline, Unresolvable):
        return changes, ()
    text = tr(
        "the installed packages already conflict; only the requested ones are kept compatible: {why}",
        why=baseline.message,
    )
    return decide_changes(opened, request, environ, narrow=True), (PlanWarning("contradictory", text),)


def _contradicted(opened: Opened, new: tuple[Requirement, ...]) -> tuple[Because, ...]:
    """Return which requirements name another release of the torch stack than is there."""
    there = opened.stack
    return tuple(
        Because(
            tr("`{requirement}` is required, {name} {version} is installed", requirement=str(requirement),
               name=name, version=there[name]),
            _ASKED,
        )
        for name, requirement in named(new).items()
        if name in there and not admits(requirement.specifier, Version(there[name]))
    )  # fmt: skip


def because_of(outcome: Unresolvable) -> tuple[Because, ...]:
    """Return who demands what, of torch first, or the resolver's own words."""
    demands = outcome.demands_on(STACK) or outcome.demands
    texts = (
        tr("{package} requires {needs}", package=demand.package, needs=demand.needs) for demand in demands
    )
    return tuple(Because(text, "uv pip install") for text in dict.fromkeys(texts)) or (
        Because(outcome.message, "uv pip install"),
    )


def concerns_torch(outcome: Unresolvable) -> bool:
    """Whether another torch may help: what can't be met is a demand on the torch stack."""
    return bool(outcome.demands_on(STACK)) or any(f"{name}==" in outcome.message for name in STACK)


def _with_builds(
    opened: Opened,
    request: ChangeRequest,
    wanted: tuple[Requirement, ...],
    options: ChangeOptions,
    environ: Mapping[str, str],
) -> ChangeRequest:
    """Return the request with the builds of these projects that were made for the torch that is there.

    Raises Unsatisfiable where there are none.
    """
    if opened.is_condas and not opened.record.planned("variant"):
        raise Unsatisfiable(tr("its torch is not known"), code="torch-unknown")
    stack = tuple(f"{name}=={Version(version).public}" for name, version in opened.stack.items())
    wanted_options = plan_options(opened, (*stack, *map(str, wanted)), options, cuda=opened.variant or "auto")
    plan = make_plan(wanted_options, with_its_python(opened, environ), target=str(opened.paths.path))
    torch = plan.packages[0].version
    if torch != opened.stack.get("torch"):
        raise Unsatisfiable(
            tr(
                "torch {installed} is installed, but its builds are known for {planned}",
                installed=opened.stack.get("torch", "?"), planned=torch,
            ),
            code="other-torch",
        )  # fmt: skip
    return _pinned(request, plan, {canonicalize_name(requirement.name) for requirement in wanted})


def _pinned(request: ChangeRequest, plan: Plan, names: set[str]) -> ChangeRequest:
    pins = {canonicalize_name(Requirement(pin).name): pin for pin in plan.pins}
    links = (*plan.sources.find_links, *request.sources.find_links)
    return replace(
        request,
        pins={**request.pins, **{name: pin for name, pin in pins.items() if name in names}},
        sources=replace(request.sources, find_links=tuple(dict.fromkeys(links))),
        plan=plan,
    )


def _requested_afterwards(opened: Opened, new: tuple[Requirement, ...]) -> tuple[str, ...]:
    """Return the request with `new` in place of what it had for the same projects."""
    fresh = named(new)
    before = (
        text for text in opened.original.requirements if not set(named((Requirement(text),))) & set(fresh)
    )
    return (*before, *map(str, new))


def _moved(
    opened: Opened,
    new: tuple[Requirement, ...],
    conflict: Conflict,
    options: ChangeOptions,
    environ: Mapping[str, str],
) -> PlannedChange:
    """Return the change that moves torch as well; raise Unsatisfiable where no torch would do."""
    requested = _requested_afterwards(opened, new)
    fresh = named(new)
    free = tuple(
        name if name in STACK and name not in fresh else str(requirement)
        for requirement in map(Requirement, requested)
        for name in (canonicalize_name(requirement.name),)
    )
    why = tuple(reason.text for reason in conflict.because)
    try:
        return move_torch(opened, free, requested=free, options=options, environ=environ, why=why)
    except Unsatisfiable as error:
        raise Unsatisfiable(
            tr("no torch that runs here is compatible with {requirements}", requirements=shown(new)),
            code="requirements-conflict",
            because=(*conflict.because, *error.because),
            fixes=error.fixes,
            data=error.data,
        ) from None


def _torch_held(
    opened: Opened, new: tuple[Requirement, ...], conflict: Conflict, moved: PlannedChange
) -> Unsatisfiable:
    torch = moved.moved.packages[0].version if moved.moved else "?"
    words = " ".join(shlex.quote(str(requirement)) for requirement in new)
    return Unsatisfiable(
        tr(
            "{requirements} is not compatible with the installed torch {torch}",
            requirements=shown(new),
            torch=opened.stack.get("torch", "?"),
        ),
        code="torch-held",
        because=conflict.because,
        fixes=(
            Fix(
                tr("torch {torch} works on this machine: move to it with", torch=torch),
                f"gpuenv install {opened.word} {words} --torch",
            ),
            Fix(tr("or request another release of the package that requires it")),
        ),
        data={"torch": {"installed": opened.stack.get("torch"), "needed": torch}},
    )


def _refused(opened: Opened, new: tuple[Requirement, ...], conflict: Conflict) -> Unsatisfiable:
    return Unsatisfiable(
        tr(
            "{requirements} is not compatible with what is installed in `{name}`",
            requirements=shown(new),
            name=opened.paths.name,
        ),
        code="requirements-conflict",
        because=conflict.because,
        fixes=(Fix(tr("relax or remove the requirement named above")),),
    )
