"""`gpuenv fleet`: the same for many machines, through Ansible or Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpuenv.cli import options as o
from gpuenv.cli.commands.fleet import options as f
from gpuenv.cli.commands.plan.options import RequestArguments
from gpuenv.cli.declaration import Declared, argument, option

declared = Declared()
fleet = declared.group("fleet", "Environments on many machines: Ansible or Slurm.")
_Name = Annotated[str, argument("NAME", "The environment: a name, or its path on the machines.")]


@fleet.command("detect")
def detect(
    output: Annotated[
        Path | None,
        option(
            "-o --output DIR",
            "Save each machine in DIR, for `gpuenv plan --machines DIR`.",
            variable="GPUENV_FLEET_OUTPUT",
        ),
    ] = None,
    *,
    where: f.FleetArguments,
    console: o.CommonOptions,
) -> int:
    """Show what each machine is: driver, GPUs, Pythons."""
    from gpuenv.cli.commands.fleet import fleet as command  # noqa: PLC0415

    return command.detect(where, output, console)


@fleet.command("plan", short_help="Plan for all machines, in the fewest groups.")
def plan(*, wanted: RequestArguments, where: f.FleetArguments, console: o.CommonOptions) -> int:
    """Plan for all machines: one environment, or the fewest groups; change nothing."""
    from gpuenv.cli.commands.fleet import fleet as command  # noqa: PLC0415

    return command.plan(wanted, where, console)


@fleet.command("create", short_help="Create an environment on each machine.")
def create(
    name: _Name,
    *,
    chosen: f.FleetCreateArguments,
    wanted: RequestArguments,
    where: f.FleetArguments,
    console: o.CommonOptions,
) -> int:
    """Detect, plan, show, apply, verify on each machine; environments that already match are left unchanged.

    A machine that fails does not stop the others. It is safe to run again.
    """
    from gpuenv.cli.commands.fleet import fleet as command  # noqa: PLC0415

    return command.create(name, wanted, chosen, where, console)


@fleet.command("verify", short_help="Verify an environment on each machine.")
def verify(
    name: _Name,
    with_compile: o.Compile = False,
    nccl: o.Nccl = False,
    *,
    where: f.FleetArguments,
    console: o.CommonOptions,
) -> int:
    """Test an environment by running real operations on every GPU of each machine."""
    from gpuenv.cli.commands.fleet import fleet as command  # noqa: PLC0415
    from gpuenv.operations.verify import VerifyOptions  # noqa: PLC0415

    return command.verify(name, VerifyOptions(compile=with_compile, nccl=nccl), where, console)
