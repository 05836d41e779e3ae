"""`gpuenv doctor --fix`."""

from __future__ import annotations

import os
from typing import Any

from msgspec import to_builtins

from gpuenv.checks.diagnosis import render_diagnosis
from gpuenv.cli.commands.doctor.options import DoctorArguments
from gpuenv.cli.commands.doctor.show import PROBLEM, as_error, show
from gpuenv.cli.console import Console
from gpuenv.cli.output import (
    confirm,
    print_data,
    print_warnings,
)
from gpuenv.cli.progress import fetching
from gpuenv.doctor.examine import DoctorOptions, Examination, examine
from gpuenv.doctor.repair import (
    PlannedRepair,
    Repaired,
    apply_repair,
    begin_log,
    plan_repair,
    with_files_checked,
)
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import VerificationFailed
from gpuenv.planning.detect import detect
from gpuenv.planning.options import PlanOptions


def repair(
    examined: Examination, arguments: DoctorArguments, options: DoctorOptions, console: Console
) -> int:
    """Show what would repair an environment, do it after a yes, and tell what came of it."""
    if not console.as_json:
        show(examined.diagnosis, console)
    sources = PlanOptions(
        mirrors=tuple(arguments.mirrors or ()),
        find_links=tuple(arguments.find_links or ()),
        offline=arguments.offline,
        only_binary=arguments.only_binary,
    )
    with console.working(tr("planning")):
        planned = plan_repair(examined, sources, os.environ)
    if not console.as_json:
        print_warnings(planned.plan.warnings)
        signed = (
            (sign, change.name, version)
            for change in planned.changes
            for sign, version in (("-", change.before), ("+", change.after))
            if version
        )
        print_data("\n".join(map(" ".join, signed)))
    if not arguments.yes:
        confirm(tr("change {environment}?", environment=examined.located.label))
    log = begin_log(examined, os.environ)
    with fetching(log, quiet=console.quiet) as watcher:
        planned = with_files_checked(planned, examined, sources, os.environ, watcher, log)
    done = _apply(examined, planned, options, console)
    return _outcome(examined, planned, done, console)


def _apply(
    examined: Examination, planned: PlannedRepair, options: DoctorOptions, console: Console
) -> Repaired:
    python = str(examined.located.python)

    def look() -> Examination:
        with console.working(tr("examining")):
            return examine(python, os.environ, detect(os.environ), options)

    shows = console.shows_installers
    return apply_repair(examined, planned, look, os.environ, show=shows, tell=console.note)


def _outcome(examined: Examination, planned: PlannedRepair, done: Repaired, console: Console) -> int:
    facts: dict[str, Any] = {
        "changes": [to_builtins(change) for change in planned.changes],
        "steps": [to_builtins(step) for step in planned.steps],
        "kept": done.kept,
        "log": str(done.log),
    }
    data = {**render_diagnosis(done.after if done.kept else examined.diagnosis), "repair": facts}
    if not done.kept:
        root = done.after.root
        cause = (root.cause or root.title) if root else ""
        text = tr("the repair did not help ({cause}); everything was restored", cause=cause)
        raise VerificationFailed(text, code="repair-undone", data=data)
    if done.after.root is not None and console.as_json:
        error = as_error(done.after)
        error.data = data
        raise error
    if console.as_json:
        return console.print_json("doctor", data)
    show(done.after, console)
    return PROBLEM if done.after.root else 0
