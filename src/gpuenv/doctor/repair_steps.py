"""The least change that repairs an environment: what to plan, the commands, and what they would change."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.checks import queries
from gpuenv.checks.build import damaged
from gpuenv.checks.diagnosis import Diagnosis, hindrance
from gpuenv.checks.libraries import other_cuda_packages, wanted_cuda_packages
from gpuenv.doctor.examine import Examination
from gpuenv.i18n.messages import tr
from gpuenv.installers import get_manager, pip, uv
from gpuenv.installers.dry_run import PackageChange, parse_pip_report, parse_uv_changes
from gpuenv.model.errors import Because, InstallFailed
from gpuenv.model.findings import Findings
from gpuenv.model.plan import Plan, Step
from gpuenv.model.variant import Variant
from gpuenv.process import subprocesses as process
from gpuenv.resolution.request import COMPANIONS

_OTHER_BUILD = ("D01", "D02", "D16", "D51")  # the variant is wrong, and another may be right
_SAME_BUILD = ("D30", "D32", "D40", "D41", "D44")
_DRY_LIMIT_S = 600.0


class Repair(Struct, frozen=True):
    """What to plan: `attempts` are requests, the least change first; `cuda` restricts the variant.

    `reinstall` are installed anew though the installer would see nothing to do, `remove` are taken out first.
    `last_resort` are installed anew where nothing else is found to change.
    """

    attempts: tuple[tuple[str, ...], ...]
    cuda: str
    reinstall: tuple[str, ...]
    remove: tuple[str, ...]
    last_resort: tuple[str, ...] = ()


class NoRepair(Struct, frozen=True):
    """Why packages of this environment can't repair it."""

    reason: str


def what_repairs(diagnosis: Diagnosis, findings: Findings) -> Repair | NoRepair:
    """Return what repairs the root cause of a diagnosis."""
    root = diagnosis.root
    if root is None:
        return NoRepair(tr("no problem found"))
    if root.id not in (*_OTHER_BUILD, *_SAME_BUILD):
        return NoRepair(tr("no package of this environment can fix that"))
    reason = hindrance(findings)
    return NoRepair(reason) if reason else _repair(diagnosis, findings)


def superseded(findings: Findings, variant: Variant) -> tuple[str, ...]:
    """Return the libraries that the present torch brought for another generation of CUDA than `variant`'s.

    They write the same files as those of the new generation (`libnccl.so.2`), so they must go first.
    """
    brought = {canonicalize_name(item.name) for item in wanted_cuda_packages(findings)}
    if variant.cuda is None:
        return ()
    others = (dist for _, major, dist in queries.nvidia_dists(findings) if major != variant.cuda.major)
    return tuple(dist.name for dist in others if dist.name in brought)


def _repair(diagnosis: Diagnosis, findings: Findings) -> Repair | NoRepair:
    version = queries.torch_version(findings)
    if version is None:
        return NoRepair(tr("nothing records which torch was planned here"))
    ids = {verdict.id for verdict in diagnosis.problems}
    companions = tuple(name for name in COMPANIONS if queries.dist_of(findings, name))
    extra = _wanted_numpy(diagnosis) if "D41" in ids else ()
    variant = queries.variant_of(findings)
    keeps = not ids & set(_OTHER_BUILD) and variant is not None and variant.is_cuda_or_cpu
    return Repair(
        attempts=tuple((torch, *companions, *extra) for torch in _torches(version, ids, findings)),
        cuda=str(variant) if keeps else "auto",
        reinstall=tuple(dict.fromkeys(_reinstalled(ids, findings))),
        remove=other_cuda_packages(findings) if "D32" in ids else (),
        last_resort=tuple(canonicalize_name(item.name) for item in wanted_cuda_packages(findings)),
    )


def _torches(version: Version, ids: set[str], findings: Findings) -> tuple[str, ...]:
    """Return what to ask of torch: this release, its patch releases, then the direction that helps."""
    public = Version(version.public)
    near = f"{public.major}.{public.minor}"
    same = (f"torch=={public}", f"torch=={near}.*")
    if not ids & set(_OTHER_BUILD):
        return same
    newer = "D16" in ids and _needs_newer(findings)
    return (*same, f"torch>{public}" if newer else f"torch<{public}", "torch")


def _needs_newer(findings: Findings) -> bool:
    architectures = findings.torch.architectures if findings.torch else ()
    listed = [text.partition("_")[2].rstrip("af") for text in architectures]
    newest = max((int(text) for text in listed if text.isdigit()), default=0)
    gpus = queries.target_gpus(findings)
    return any(gpu.capability.major * 10 + gpu.capability.minor > newest for gpu in gpus)


def _wanted_numpy(diagnosis: Diagnosis) -> tuple[str, ...]:
    needs = next(verdict.needs for verdict in diagnosis.problems if verdict.id == "D41")
    return (needs,) if needs and needs.startswith("numpy") else ()


def _reinstalled(ids: set[str], findings: Findings) -> list[str]:
    names = list(damaged(findings)) if "D44" in ids else []
    if "D44" in ids and findings.torch is None:
        names.append("torch")
    if "D32" in ids:
        others = {name.rpartition("-cu")[0] for name in other_cuda_packages(findings)}
        cuda = queries.cuda_of(findings)
        names += [
            dist.name
            for _, major, dist in queries.nvidia_dists(findings)
            if cuda and major == cuda.major and dist.name.rpartition("-cu")[0] in others
        ]
    return names


def repair_steps(repair: Repair, plan: Plan, examined: Examination) -> tuple[Step, ...]:
    """Return the commands that repair an environment in place."""
    python = str(examined.located.python)
    checked = plan.checked.names if plan.checked else frozenset[str]()
    there = {dist.name for dist in examined.findings.dists}
    constraints = (constraint for constraint in plan.constraints if _name(constraint) in there)
    packages = (*plan.pins, *plan.requirements, *constraints)
    wanted = dict.fromkeys((*repair.reinstall, *_unseen(plan, examined.findings)))
    again = tuple(name for name in wanted if canonicalize_name(name) not in checked)
    module = pip if plan.manager == "pip" else uv
    steps = [module.checked_step(plan.checked, python, anew=True)] if plan.checked else []
    steps += (_pip_steps if plan.manager == "pip" else _uv_steps)(python, packages, again, plan)
    if repair.remove:
        uninstall: tuple[str, ...] = ("uv", "pip", "uninstall", "--python", python)
        if plan.manager == "pip":
            uninstall = (python, "-I", "-m", "pip", "uninstall", "-y")
        steps.insert(0, Step((*uninstall, *repair.remove), tr("remove what does not belong here")))
    return tuple(steps)


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


def _uv_steps(python: str, packages: tuple[str, ...], again: tuple[str, ...], plan: Plan) -> tuple[Step, ...]:
    options = tuple(word for name in again for word in ("--reinstall-package", name))
    argv = ("uv", "pip", "install", "--python", python, *options, *packages, *uv.source_options(plan.sources))
    return (Step(argv, tr("install the builds that work here")),)


def _pip_steps(
    python: str, packages: tuple[str, ...], again: tuple[str, ...], plan: Plan
) -> tuple[Step, ...]:
    start, sources = (python, "-I", "-m", "pip", "install"), pip.source_options(plan.sources)
    install = Step((*start, *packages, *sources), tr("install the builds that work here"))
    pinned = tuple(next((package for package in packages if _name(package) == name), name) for name in again)
    forced = (*start, "--force-reinstall", "--no-deps", *pinned, *sources)
    reinstall = Step(forced, tr("reinstall packages that only appear intact"))
    return (install, reinstall) if pinned else (install,)


def planned_changes(
    repair: Repair, steps: tuple[Step, ...], plan: Plan, examined: Examination, environ: Mapping[str, str]
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
    module = get_manager(plan.manager)
    position = step.argv.index("install") + 1
    words = ("--dry-run", "--quiet", "--report", "-") if plan.manager == "pip" else ("--dry-run",)
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
    if plan.manager == "pip":
        return parse_pip_report(done.stdout, before)
    return parse_uv_changes(done.stderr + "\n" + done.stdout)
