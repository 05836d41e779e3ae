"""`gpuenv doctor --fix`: plan the least change, show it, make it, look again, undo what did not help."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.checks.diagnosis import Diagnosis
from gpuenv.doctor.examine import Examination
from gpuenv.doctor.repair_steps import (
    NoRepair,
    Repair,
    planned_changes,
    repair_steps,
    superseded,
    what_repairs,
)
from gpuenv.environments.contents.constraints_file import CONSTRAINTS, hold_stack
from gpuenv.environments.file_lock import busy, locked
from gpuenv.environments.os_errors import convert_os_error
from gpuenv.environments.pending import is_pending
from gpuenv.environments.record import read_record, write_record
from gpuenv.environments.run_steps import StepEnvironment, new_log, run_steps
from gpuenv.environments.snapshot import changing_in_place
from gpuenv.environments.wheel_check import check_files
from gpuenv.formats.json import render_plan_data
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.installers import get_manager
from gpuenv.installers.dry_run import PackageChange
from gpuenv.model.errors import Because, Fix, Unsatisfiable, UsageError
from gpuenv.model.findings import Findings
from gpuenv.model.plan import Plan, Step
from gpuenv.model.variant import Variant
from gpuenv.operations.fetch_stack import FetchWatcher, StackNotFetchedError, fetch_stack, not_fetched
from gpuenv.operations.interrupted_change import place_at
from gpuenv.operations.proof_age import proven
from gpuenv.operations.settle import lifted, word_for
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions

_WORK = "D54"
_NOT_OF_PACKAGES = ("machine", "container", "driver", "environment variables")


class PlannedRepair(Struct, frozen=True):
    """A repair that was decided: the plan behind it, the commands, and what they change.

    `repair` is what the diagnosis asks for; `log` is where what was fetched is logged.
    """

    plan: Plan
    steps: tuple[Step, ...]
    changes: tuple[PackageChange, ...]
    repair: Repair | None = None
    log: Path | None = None


class Repaired(Struct, frozen=True):
    """What came of it: `kept` tells that the environment is better; else it is as it was before."""

    kept: bool
    after: Diagnosis
    log: Path


def plan_repair(examined: Examination, options: PlanOptions, environ: Mapping[str, str]) -> PlannedRepair:
    """Return the least change that repairs the root cause; `options` say where packages come from.

    Raises Unsatisfiable where packages cannot repair it, and what make_plan raises where no build would.
    """
    if examined.located.root is None:
        raise UsageError(
            tr("gpuenv repairs environments, not a Python on its own"),
            code="no-environment",
            fixes=(Fix(tr("create an environment instead"), "gpuenv create NAME"),),
        )
    repair = what_repairs(examined.diagnosis, examined.findings)
    if isinstance(repair, NoRepair):
        raise _not_by_packages(examined.diagnosis, repair)
    plan = _least(repair, examined, options, environ)
    gone = superseded(examined.findings, Variant(plan.variant))
    repair = replace(repair, remove=tuple(dict.fromkeys((*repair.remove, *gone))))
    last = (replace(repair, reinstall=repair.last_resort),) if repair.last_resort else ()
    for attempt in (repair, *last):
        steps = repair_steps(attempt, plan, examined)
        changes = planned_changes(attempt, steps, plan, examined, environ)
        if changes:
            return PlannedRepair(plan, steps, changes, attempt)
    raise Unsatisfiable(tr("the installer found nothing to change"), code="nothing-to-change")


def begin_log(examined: Examination, environ: Mapping[str, str]) -> Path:
    """Return an empty log for what is fetched before the repair; raise UsageError where none can be kept."""
    log = new_log(place_at(_root_of(examined), environ))
    try:
        log.touch()
    except OSError as error:
        raise convert_os_error(log, error) from error
    return log


def with_files_checked(
    planned: PlannedRepair,
    examined: Examination,
    options: PlanOptions,
    environ: Mapping[str, str],
    watcher: FetchWatcher,
    log: Path,
) -> PlannedRepair:
    """Return the repair with the files of torch that it brings on this disk, each checked.

    Raises what `fetch_stack` raises, but InstallFailed for a file that can be had from nowhere.
    """
    coming = {change.name for change in planned.changes if change.after}
    stack = tuple(file for file in planned.plan.stack if file.name in coming)
    if planned.repair is None or not stack:
        return replace(planned, log=log)
    mirrors = load_mirrors(environ)
    plan, root = replace(planned.plan, stack=stack), _root_of(examined)
    try:
        local = fetch_stack(plan, options, mirrors, environ, watcher, target=str(root)).local
    except StackNotFetchedError as error:
        raise not_fetched(error.logged(log), mirrors) from None
    steps = repair_steps(planned.repair, local, examined)
    return replace(planned, plan=replace(planned.plan, checked=local.checked), steps=steps, log=log)


def _root_of(examined: Examination) -> Path:
    root = examined.located.root
    if root is None:
        raise ValueError(tr("a repair is planned for an environment"))
    return root


def _not_by_packages(diagnosis: Diagnosis, why: NoRepair) -> Unsatisfiable:
    root = diagnosis.root
    commands = (verdict.command or "" for verdict in diagnosis.problems)
    own = next((command for command in commands if "--fix" in command), "")
    fixes = (Fix(root.fix, root.command),) if root and root.fix and root.command != own else ()
    return Unsatisfiable(
        tr("{cause}: {reason}", cause=root.cause if root else "", reason=why.reason),
        code="not-repairable",
        because=(Because(root.read, root.id),) if root else (),
        fixes=fixes,
    )


def _manager_of(findings: Findings) -> str:
    """Return who installed what is here: pip where it did and is there itself, else uv."""
    torch = next((dist for dist in findings.dists if dist.name == "torch"), None)
    has_pip = any(dist.name == "pip" for dist in findings.dists)
    return "pip" if has_pip and torch is not None and torch.installer == "pip" else "uv"


def _least(repair: Repair, examined: Examination, options: PlanOptions, environ: Mapping[str, str]) -> Plan:
    """Return the plan of the first attempt that is not refused; raise the first refusal where all are."""
    refused: list[Unsatisfiable] = []
    located, findings = examined.located, examined.findings
    # the environment's own Python is among those that are found
    folders = filter(None, (str(located.python.parent), environ.get("PATH", "")))
    environ = {**environ, "PATH": os.pathsep.join(folders)}
    options = replace(
        options,
        python=".".join((findings.python.version or "").split(".")[:2]),
        cuda=repair.cuda,
        manager=_manager_of(findings),
        program=("gpuenv", "plan"),
    )
    for attempt in repair.attempts:
        attempted = replace(options, requirements=attempt)
        try:
            return make_plan(attempted, environ, target=str(located.root))
        except Unsatisfiable as error:
            refused.append(error)
    raise refused[0]


def apply_repair(
    examined: Examination,
    planned: PlannedRepair,
    look: Callable[[], Examination],
    environ: Mapping[str, str],
    *,
    show: bool,
    tell: Callable[[str], None],
) -> Repaired:
    """Make the repair and look again; what did not help, failed or was interrupted is undone.

    Raises InstallFailed (the previous packages were restored) and UsageError (another gpuenv works on it).
    """
    root = _root_of(examined)
    environment = place_at(root, environ)
    with locked(environment, tell=tell) as descriptors:
        if is_pending(environment):  # one that was killed since it was examined
            raise busy(environment)
        log = planned.log or new_log(environment)
        module = get_manager(planned.plan.manager)
        running = StepEnvironment(
            environ=lifted(module.environment(environ, planned.plan.sources), root),
            log=log,
            executables=module.executables(),
            show=show,
            keep_open=descriptors,
            tell=tell,
        )
        touched = (item.name for item in planned.changes)
        with changing_in_place(environment, examined.findings.python.packages, touched) as change:
            run_steps(planned.steps, running, lambda: None)
            if planned.plan.checked:
                check_files(planned.plan.checked.files, root, log)
            after = look()
            if is_better(examined.diagnosis, after.diagnosis):
                _record(root, planned.plan, after)
                if (root / CONSTRAINTS).exists():
                    hold_stack(root, word_for(environment))
                change.keep()
    return Repaired(change.kept, after.diagnosis, log)


def is_better(before: Diagnosis, after: Diagnosis) -> bool:
    """Tell whether the root cause is gone and nothing new is wrong.

    Work that fails is none of the old faults unless the machine itself explains it: a CPU build failed too.
    """
    was, now = ({verdict.id for verdict in diagnosis.problems} for diagnosis in (before, after))
    explained = any(verdict.group in _NOT_OF_PACKAGES for verdict in after.problems)
    fails = _WORK in now and not explained
    return before.root is not None and before.root.id not in now and now <= was and not fails


def _record(root: Path, plan: Plan, after: Examination) -> None:
    """Note the new plan where gpuenv made the environment."""
    record = read_record(root)
    proof = after.findings.proof
    if record is not None and record.problem is None:
        record = replace(record, plan=render_plan_data(plan), verify=None, verified=None, proof=None)
        write_record(root, proven(record, None, ok=proof.ok) if proof else record)
