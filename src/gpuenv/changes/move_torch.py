"""Another torch in an environment: resolved as `create` does, together with all installed packages."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.changes.dependents import unneeded_without
from gpuenv.changes.open_environment import ChangeOptions, Opened, plan_options, with_its_python
from gpuenv.changes.resolve import ChangeRequest, PlannedChange, decide_changes, held_pins, special_names
from gpuenv.i18n.messages import tr
from gpuenv.installers.dry_run import PackageChange
from gpuenv.installers.uv_compile import CompileInput, Resolved, compile_requirements
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import Because, Fix, GpuenvError, Unsatisfiable
from gpuenv.model.plan import Plan
from gpuenv.planning.make_plan import make_plan


def move_torch(
    opened: Opened,
    requirements: tuple[str, ...],
    *,
    requested: tuple[str, ...],
    options: ChangeOptions,
    environ: Mapping[str, str],
    why: tuple[str, ...] = (),
    upgrade: tuple[str, ...] = (),
) -> PlannedChange:
    """Return what brings the best torch for this machine that goes with `requirements`.

    `requested` is the environment's request afterwards. Raises Unsatisfiable where no torch fits.
    """
    plan = plan_anew(opened, requirements, options, environ)
    special = special_names(environ)
    old = {name for name in opened.versions if name in special}
    pins: dict[str, str] = {canonicalize_name(Requirement(pin).name): pin for pin in plan.pins}
    superfluous = {*unneeded_without(old, opened.needs, ()), *(old - set(pins))}
    named = {
        canonicalize_name(requirement.name): str(requirement)
        for requirement in map(Requirement, requirements)
    }
    rest = replace(
        opened, installed=tuple(package for package in opened.installed if package.name not in superfluous)
    )
    request = ChangeRequest(
        pins={**held_pins(rest, ()), **pins},
        requirements={name: text for name, text in named.items() if name not in pins},
        sources=plan.sources,
        offline=options.offline,
        upgrade=tuple(name for name in upgrade if name not in pins),
        plan=plan,
        constraints=plan.constraints,
    )
    changes = decide_changes(rest, request, environ)
    if isinstance(changes, Unresolvable):
        raise Unsatisfiable(
            tr(
                "the installed packages are not compatible with torch {torch}", torch=plan.packages[0].version
            ),
            code="requirements-conflict",
            because=(Because(changes.message, "uv pip install"),),
            fixes=(
                Fix(
                    tr("remove the package that needs the installed torch"),
                    f"gpuenv uninstall {opened.word} PKG",
                ),
                Fix(tr("or create a second environment for it"), "gpuenv create NAME"),
            ),
        )
    gone = _gone(opened, request, superfluous, {change.name for change in changes}, environ)
    there = opened.versions
    out = tuple(PackageChange(name, there[name], None) for name in gone)
    changes = tuple(sorted((*changes, *out), key=lambda change: change.name))
    same = plan.packages[0].version == there.get("torch")
    return PlannedChange(
        opened,
        request,
        changes,
        requested,
        moved=None if same and not changes else plan,
        warnings=plan.warnings,
        why=why,
    )


def plan_anew(
    opened: Opened, requirements: tuple[str, ...], options: ChangeOptions, environ: Mapping[str, str]
) -> Plan:
    """Return the plan that `create` would make for these requirements, with the environment's own Python."""
    named = {canonicalize_name(Requirement(text).name) for text in requirements}
    special = special_names(environ)
    there = tuple(name for name in opened.versions if name in special and name not in named)
    wanted = plan_options(opened, (*requirements, *there), options, cuda=opened.original.cuda)
    return make_plan(wanted, with_its_python(opened, environ), target=str(opened.paths.path))


def _gone(
    opened: Opened,
    request: ChangeRequest,
    superfluous: set[str],
    coming: set[str],
    environ: Mapping[str, str],
) -> tuple[str, ...]:
    """Return what only the old torch needed: of CUDA's libraries there would be two sets otherwise."""
    candidates = superfluous - coming - set(opened.requirements)
    if not candidates:
        return ()
    question = CompileInput(
        pins=request.plan.pins if request.plan else (),
        requirements=tuple(request.requirements.values()),
        constraints=request.constraints,
        sources=request.sources,
        python=opened.minor,
        offline=request.offline,
        interpreter=str(opened.python) or sys.executable,
    )
    try:
        resolved = compile_requirements(question, environ)
    except GpuenvError:  # then they stay, which does no harm
        return ()
    needed = {file.name for file in resolved.files} if isinstance(resolved, Resolved) else candidates
    return tuple(sorted(candidates - needed))
