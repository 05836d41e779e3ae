"""`gpuenv detect`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_data, print_json
from gpuenv.formats.machine import render_machine_text
from gpuenv.i18n.messages import tr
from gpuenv.model.machine import Problem
from gpuenv.model.machine_json import render_machine
from gpuenv.planning.detect import detect as detect_here

if TYPE_CHECKING:
    from gpuenv.model.plan import PlanWarning


def detect(common: Common) -> int:
    """Print what this machine is; a broken driver is told, but telling it is not a failure."""
    machine = detect_here(os.environ)
    if common.as_json:
        print_json(envelope("detect", render_machine(machine), warnings=_warnings(machine.problems)))
        return 0
    print_data(render_machine_text(machine, verbose=common.verbose))
    if not common.quiet:
        for problem in machine.problems:
            note(tr("warning: {message}", message=problem.message))
    return 0


def _warnings(problems: tuple[Problem, ...]) -> tuple[PlanWarning, ...]:
    if not problems:
        return ()
    from gpuenv.model.plan import PlanWarning  # noqa: PLC0415 - a plan's values take longer than a sound machine

    return tuple(PlanWarning(problem.code, problem.message) for problem in problems)
