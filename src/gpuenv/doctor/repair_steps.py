"""The commands of a repair, and what the installer says they would change."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.doctor.examine import Examination
from gpuenv.doctor.repair_choice import Repair
from gpuenv.i18n.messages import tr
from gpuenv.installers import get_manager, pip, uv
from gpuenv.installers.dry_run import PackageChange, parse_pip_report, parse_uv_changes
from gpuenv.model.errors import Because, InstallFailed
from gpuenv.model.findings import Findings
from gpuenv.model.plan import Plan, Step
from gpuenv.process import subprocesses as process

_DRY_LIMIT_S = 600.0


def repair_steps(repair: Repair, plan: Plan, examined: Examination) -> tuple[Step, ...]:
    """Return the commands that repair an environment in place."""
    python = str(examined.located.python)
    checked = plan.checked.names if plan.checked else frozenset[str]()
    there = {dist.name for dist in examined.findings.dists}
    packages = (
        *plan.pins,
        *plan.requirements,
        *(constraint for constraint in plan.constraints if _name(constraint) in there),
    )
    wanted = dict.fromkeys((*repair.reinstall, *_unseen(plan, examined.findings)))
    again = tuple(name for name in wanted if canonicalize_name(name) not in checked)
    make = _pip_steps if plan.manager == "pip" else _uv_steps
    return make(python, packages, again, repair.remove, plan)


def _checked_steps(python: str, plan: Plan) -> tuple[Step, ...]:
    """Return what puts the checked files of the torch stack in, before anything else is resolved."""
    module = pip if plan.manager == "pip" else uv
    return (module.checked_step(plan.checked, python, anew=True),) if plan.checked else ()


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _unseen(plan: Plan, findings: Findings) -> tuple[str, ...]:
    """Return what the installer would take for installed: `==2.7.1` is satisfied by 2.7.1+cpu as well."""
    before = {dist.name: dist.version for dist in findings.dists}
    stack = plan.packages[: len(plan.pins)]
    own = {findings.torch.variant} if findings.torch else set()
    return tuple(
        package.name
        for package in stack
        if "+" not in package.version
        and (before.get(package.name) or "").partition("+")[0] == package.version
        and (package.variant not in own or "+" in (before.get(package.name) or ""))
    )


def _uv_steps(
    python: str, packages: tuple[str, ...], again: tuple[str, ...], remove: tuple[str, ...], plan: Plan
) -> tuple[Step, ...]:
    options = tuple(word for name in again for word in ("--reinstall-package", name))
    argv = ("uv", "pip", "install", "--python", python, *options, *packages, *uv.source_options(plan.sources))
    install = (*_checked_steps(python, plan), Step(argv, tr("install the builds that work here")))
    if not remove:
        return install
    out = ("uv", "pip", "uninstall", "--python", python, *remove)
    return (Step(out, tr("remove what does not belong here")), *install)


def _pip_steps(
    python: str, packages: tuple[str, ...], again: tuple[str, ...], remove: tuple[str, ...], plan: Plan
) -> tuple[Step, ...]:
    start, sources = (python, "-I", "-m", "pip", "install"), pip.source_options(plan.sources)
    install = Step((*start, *packages, *sources), tr("install the builds that work here"))
    steps = [*_checked_steps(python, plan), install]
    if remove:
        out = (python, "-I", "-m", "pip", "uninstall", "-y", *remove)
        steps.insert(0, Step(out, tr("remove what does not belong here")))
    pinned = tuple(next((package for package in packages if _name(package) == name), name) for name in again)
    if pinned:
        forced = (*start, "--force-reinstall", "--no-deps", *pinned, *sources)
        steps.append(Step(forced, tr("reinstall packages that only appear intact")))
    return tuple(steps)


def planned_changes(
    repair: Repair,
    steps: tuple[Step, ...],
    plan: Plan,
    examined: Examination,
    environ: Mapping[str, str],
) -> tuple[PackageChange, ...]:
    """Return what the installer says it would change, and what is taken out first; raise InstallFailed."""
    before = {dist.name: dist.version or "?" for dist in reversed(examined.findings.dists)}
    changes = {name: PackageChange(name, before.get(name), None) for name in repair.remove}
    for step in steps:
        if "install" in step.argv:
            changes |= {change.name: change for change in _dry_run(step, plan, before, environ)}
    return tuple(changes[name] for name in sorted(changes))


def _dry_run(
    step: Step, plan: Plan, before: dict[str, str], environ: Mapping[str, str]
) -> tuple[PackageChange, ...]:
    manager = plan.manager
    module = get_manager(manager)
    position = step.argv.index("install") + 1
    words = ("--dry-run", "--quiet", "--report", "-") if manager == "pip" else ("--dry-run",)
    argv = (*step.argv[:position], *words, *step.argv[position:])
    argv = (module.executables().get(argv[0], argv[0]), *argv[1:])
    done = process.run(argv, timeout_s=_DRY_LIMIT_S, environ=module.environment(environ, plan.sources))
    if not done.ok:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise InstallFailed(
            tr("the installer rejected the repair; nothing was changed"),
            code="install-failed",
            because=(Because("\n".join(lines[-15:]) or done.error or "", argv[0]),),
        )
    if manager == "pip":
        return parse_pip_report(done.stdout, before)
    return parse_uv_changes(done.stderr + "\n" + done.stdout)
