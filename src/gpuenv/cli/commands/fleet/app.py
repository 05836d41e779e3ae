"""`gpuenv fleet`: the same for many machines, through Ansible or Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpuenv.cli import options as o
from gpuenv.cli.commands.fleet import options as f

fleet_app = typer.Typer(
    help="The same for many machines, through Ansible or Slurm; they need nothing but Python 3.8.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The environment: a name, or a path as it is on the machines.",
        show_default=False,
    ),
]


@fleet_app.callback()
def _group(lang: o.Language = o.LanguageName.auto) -> None: ...


@fleet_app.command("detect")
@o.grouped
def detect(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            envvar="GPUENV_FLEET_OUTPUT",
            help="Save each machine in DIR, for `gpuenv plan --machines DIR`.",
        ),
    ] = None,
    *,
    where: f.FleetArguments,
    common: o.Common,
) -> int:
    """Tell what each machine is: driver, GPUs, Pythons."""
    from gpuenv.cli.commands.fleet import fleet as command  # noqa: PLC0415

    return command.detect(where, output, common)


@fleet_app.command("plan")
@o.grouped
def plan(
    *,
    wanted: f.FleetPlanArguments,
    where: f.FleetArguments,
    common: o.Common,
) -> int:
    """Decide for all machines: one environment, or the fewest groups; change nothing."""
    from gpuenv.cli.commands.fleet import fleet as command  # noqa: PLC0415

    return command.plan(wanted, where, common)


@fleet_app.command("create")
@o.grouped
def create(
    name: _Name,
    *,
    chosen: f.FleetCreateArguments,
    wanted: f.FleetPlanArguments,
    where: f.FleetArguments,
    common: o.Common,
) -> int:
    """Detect, plan, show, apply, verify on each machine; what is there already is left as it is.

    A machine that fails does not stop the others. It can be run again at any time.
    """
    from gpuenv.cli.commands.fleet import fleet as command  # noqa: PLC0415

    return command.create(name, wanted, chosen, where, common)


@fleet_app.command("verify")
@o.grouped
def verify(
    name: _Name,
    with_compile: o.Compile = False,
    nccl: o.Nccl = False,
    *,
    where: f.FleetArguments,
    common: o.Common,
) -> int:
    """Run real work on every GPU of each machine in an environment and report."""
    from gpuenv.cli.commands.fleet import fleet as command  # noqa: PLC0415
    from gpuenv.operations.verify import VerifyOptions  # noqa: PLC0415

    return command.verify(name, VerifyOptions(compile=with_compile, nccl=nccl), where, common)
