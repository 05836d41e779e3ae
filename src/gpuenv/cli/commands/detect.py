"""`gpuenv detect`."""

from __future__ import annotations

import os

from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_data, print_json
from gpuenv.core.machine_json import render_machine
from gpuenv.core.render.machine import render_machine_text
from gpuenv.values.plan import Warn
from gpuenv.values.text import tr
from gpuenv.workflow.detect import detect as detect_here


def detect(common: Common) -> int:
    """Print what this machine is; a broken driver is told, but telling it is not a failure."""
    machine = detect_here(os.environ)
    if common.as_json:
        warnings = tuple(Warn(problem.code, problem.message) for problem in machine.problems)
        print_json(envelope("detect", render_machine(machine), warnings=warnings))
        return 0
    print_data(render_machine_text(machine, verbose=common.verbose))
    if not common.quiet:
        for problem in machine.problems:
            note(tr("warning: {message}", message=problem.message))
    return 0
