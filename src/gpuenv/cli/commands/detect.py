"""`gpuenv detect`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_data, print_json
from gpuenv.core.machine_json import render_machine
from gpuenv.core.render.machine import render_machine_text
from gpuenv.values.machine import Problem
from gpuenv.values.text import tr
from gpuenv.workflow.detect import detect as detect_here

if TYPE_CHECKING:
    from gpuenv.values.plan import Warn


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


def _warnings(problems: tuple[Problem, ...]) -> tuple[Warn, ...]:
    if not problems:
        return ()
    from gpuenv.values.plan import Warn  # noqa: PLC0415 - a plan's values take longer than a sound machine

    return tuple(Warn(problem.code, problem.message) for problem in problems)
