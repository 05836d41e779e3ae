"""`gpuenv create --adapt`: an environment from dependency files, changed as little as possible."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpuenv.adapt.adapt import adapt
from gpuenv.adapt.model import Adaptation
from gpuenv.adapt.render import render_adaptation_data
from gpuenv.cli.commands.create.create import Planning, create_from_options
from gpuenv.cli.commands.create.replacing import check_place
from gpuenv.cli.commands.plan.adapt import show_adaptation, to_adapt, write_adapted
from gpuenv.cli.commands.plan.options import AdaptArguments, CreateArguments, PlanArguments
from gpuenv.cli.console import Console
from gpuenv.cli.output import bad_usage
from gpuenv.i18n.messages import tr
from gpuenv.model.plan import Plan
from gpuenv.planning.conda.choose import choose_manager
from gpuenv.planning.options import PlanOptions


def create_adapted(
    name: str,
    lab: Path | None,
    wanted: PlanArguments,
    arguments: AdaptArguments,
    chosen: CreateArguments,
    console: Console,
) -> int:
    """Adapt, show, ask, apply, verify; with --write, change the files last."""
    _check_alone(lab, chosen)
    adapting, options = to_adapt(wanted, arguments, ("gpuenv", "create", name))
    environment, chosen = check_place(name, chosen, console, choose_manager(options, os.environ))
    adaptations: list[Adaptation] = []

    def make(options: PlanOptions) -> Plan:
        adaptations.append(adapt(adapting, options, os.environ, target=str(environment.path)))
        return adaptations[-1].plan

    def show(_: Plan) -> None:
        show_adaptation(adaptations[-1], console, with_patch=False)

    def more() -> dict[str, Any]:
        return {"adapted": render_adaptation_data(adaptations[-1])}

    status = create_from_options(name, options, chosen, console, Planning(make, show, more))
    if arguments.write and not chosen.dry_run:
        write_adapted(adaptations[-1], console)
    return status


def _check_alone(lab: Path | None, chosen: CreateArguments) -> None:
    """Raise UsageError for options that also define what to install."""
    given = (("--from", lab), ("--from-lock", chosen.from_lock))
    other = next((option for option, value in given if value is not None), None)
    if other is not None:
        problem = tr("--adapt and {option} are mutually exclusive: both define what to install", option=other)
        raise bad_usage(problem, tr("omit one of the two"))
