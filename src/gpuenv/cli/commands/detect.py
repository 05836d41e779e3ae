"""`gpuenv detect`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.planning.detect import detect as detect_here
from gpuenv.planning.detect import detect_in

if TYPE_CHECKING:
    from pathlib import Path

    from gpuenv.model.machine import Machine, Problem
    from gpuenv.model.plan import PlanWarning


def detect(console: Console, *, with_variants: bool = False, root: Path | None = None) -> int:
    """Print what this machine is; a broken driver is a warning, not a failure.

    `with_variants`: also what it supports in the words of wheel variants. `root`: where its files lie.
    """
    machine = detect_here(os.environ) if root is None else detect_in(root, os.environ)
    warnings = _warnings(machine.problems)
    if with_variants:
        return _detect_with_variants(machine, warnings, console)
    if console.as_json:
        from gpuenv.model.machine_json import render_machine  # noqa: PLC0415 - not before nvidia-smi is started

        return console.print_json("detect", render_machine(machine), warnings)
    from gpuenv.formats.machine import render_machine_text  # noqa: PLC0415

    print_data(render_machine_text(machine, verbose=console.verbose))
    console.warn(warnings)
    return 0


def _detect_with_variants(machine: Machine, warnings: tuple[PlanWarning, ...], console: Console) -> int:
    from gpuenv.formats.machine import render_machine_text  # noqa: PLC0415
    from gpuenv.formats.wheel_variants import render_support, support_lines  # noqa: PLC0415
    from gpuenv.model.machine_json import render_machine  # noqa: PLC0415

    if console.as_json:
        data = render_machine(machine) | {"wheel_variants": render_support(machine)}
        return console.print_json("detect", data, warnings)
    text = render_machine_text(machine, verbose=console.verbose).rstrip("\n")
    print_data("\n".join((text, *support_lines(machine))))
    console.warn(warnings)
    return 0


def _warnings(problems: tuple[Problem, ...]) -> tuple[PlanWarning, ...]:
    if not problems:
        return ()
    from gpuenv.model.plan import PlanWarning  # noqa: PLC0415 - a plan's values take longer than a sound machine

    return tuple(PlanWarning(problem.code, problem.message) for problem in problems)
