"""`gpuenv doctor --fix`."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import Any

from gpuenv.cli.commands.doctor.options import DoctorArguments
from gpuenv.cli.commands.doctor.show import PROBLEM, as_error, show
from gpuenv.cli.options import Common
from gpuenv.cli.output import (
    check_terminal,
    confirm,
    envelope,
    note,
    print_data,
    print_json,
    print_warnings,
    working,
)
from gpuenv.cli.progress import fetching
from gpuenv.doctor.diagnosis import render_diagnosis
from gpuenv.doctor.examine import DoctorOptions, Examination, examine
from gpuenv.doctor.repair import (
    PlannedRepair,
    Repaired,
    RepairOptions,
    apply_repair,
    begin_log,
    plan_repair,
    with_files_checked,
)
from gpuenv.i18n.messages import tr
from gpuenv.installers.dry_run import PackageChange
from gpuenv.model.errors import VerificationFailed
from gpuenv.planning.detect import detect


def repair(examined: Examination, arguments: DoctorArguments, options: DoctorOptions, common: Common) -> int:
    """Show what would repair an environment, do it after a yes, and tell what came of it."""
    if not common.as_json:
        show(examined.diagnosis, common)
    sources = RepairOptions(
        tuple(arguments.mirrors or ()),
        tuple(arguments.find_links or ()),
        arguments.offline,
        arguments.only_binary,
    )
    with working(tr("planning"), quiet=common.quiet):
        planned = plan_repair(examined, sources, os.environ)
    if not common.as_json:
        print_warnings(planned.plan.warnings)
        print_data("\n".join(line for change in planned.changes for line in _lines(change)))
    if not arguments.yes:
        check_terminal(assume="--yes")
        confirm(tr("change {environment}?", environment=examined.located.label), assume="--yes")
    log = begin_log(examined, os.environ)
    with fetching(log, quiet=common.quiet) as watcher:
        planned = with_files_checked(planned, examined, sources, os.environ, watcher, log)
    done = _apply(examined, planned, options, common)
    return _outcome(examined, planned, done, common)


def _lines(change: PackageChange) -> tuple[str, ...]:
    gone = f"- {change.name} {change.before}" if change.before else ""
    come = f"+ {change.name} {change.after}" if change.after else ""
    return tuple(line for line in (gone, come) if line)


def _apply(examined: Examination, planned: PlannedRepair, options: DoctorOptions, common: Common) -> Repaired:
    python = str(examined.located.python)

    def look() -> Examination:
        with working(tr("examining"), quiet=common.quiet):
            return examine(python, os.environ, detect(os.environ), options)

    return apply_repair(
        examined,
        planned,
        look,
        os.environ,
        show=not common.quiet and not (common.as_json and not sys.stderr.isatty()),
        tell=(lambda _: None) if common.quiet else note,
    )


def _outcome(examined: Examination, planned: PlannedRepair, done: Repaired, common: Common) -> int:
    facts: dict[str, Any] = {
        "changes": [asdict(change) for change in planned.changes],
        "steps": [asdict(step) for step in planned.steps],
        "kept": done.kept,
        "log": str(done.log),
    }
    data = {**render_diagnosis(done.after if done.kept else examined.diagnosis), "repair": facts}
    if not done.kept:
        raise _not_helped(done, data)
    if done.after.root is not None and common.as_json:
        error = as_error(done.after)
        error.data = data
        raise error
    if common.as_json:
        print_json(envelope("doctor", data))
    else:
        show(done.after, common)
    return PROBLEM if done.after.root else 0


def _not_helped(done: Repaired, data: dict[str, Any]) -> VerificationFailed:
    root = done.after.root
    cause = (root.cause or root.title) if root else ""
    return VerificationFailed(
        tr("the repair did not help ({cause}); everything was restored", cause=cause),
        code="repair-undone",
        data=data,
    )
