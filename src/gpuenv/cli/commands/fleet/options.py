"""The options of `gpuenv fleet`; each has an environment variable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gpuenv.cli import options as o


@dataclass(frozen=True, slots=True)
class FleetArguments:
    """The options that say which machines a fleet's command is for, and what is kept of it."""

    inventory: Annotated[
        list[Path] | None,
        typer.Option(
            "-i",
            "--inventory",
            metavar="FILE",
            envvar="GPUENV_INVENTORY",
            help="An inventory of Ansible: a file, a folder or a program; repeatable.",
        ),
    ] = None
    partition: Annotated[
        str | None,
        typer.Option(
            "-p", "--partition", metavar="NAME", envvar="GPUENV_PARTITION", help="A partition of Slurm."
        ),
    ] = None
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="PATTERN",
            envvar="GPUENV_LIMIT",
            help="Only these machines: a pattern of Ansible, or a host list of Slurm.",
        ),
    ] = None
    forks: Annotated[
        int | None,
        typer.Option(
            "--forks",
            metavar="N",
            min=1,
            max=10_000,
            envvar="GPUENV_FORKS",
            help="So many machines at a time; left out, as the engine is set up.",
        ),
    ] = None
    timeout_s: Annotated[
        int | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=1,
            max=1_000_000,
            envvar="GPUENV_FLEET_TIMEOUT",
            help="Give up on a machine after this long; left out, never.",
        ),
    ] = None
    wait_s: Annotated[
        int | None,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            min=1,
            max=1_000_000,
            envvar="GPUENV_WAIT",
            help="Give up on a machine whose job has waited for this long in Slurm's queue.",
        ),
    ] = None
    slurm_options: Annotated[
        list[str] | None,
        typer.Option(
            "--slurm-option",
            metavar="OPTION",
            envvar="GPUENV_SLURM_OPTION",
            help="An option of Slurm's srun, such as --account=lab; repeatable.",
        ),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            envvar="GPUENV_REPORT",
            help="Write what became of each machine to FILE, as one HTML page.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class FleetPlanArguments:
    """What a fleet's plan is asked for: as `plan` is, but that its machines tell what they are."""

    requirements: o.Requirements = None
    requirement_files: o.RequirementFiles = None
    environment_file: o.EnvironmentFile = None
    python: o.Python = None
    cuda: o.Cuda = "auto"
    mirrors: o.Mirrors = None
    find_links: o.FindLinks = None
    offline: o.Offline = False
    only_binary: o.OnlyBinary = False


@dataclass(frozen=True, slots=True)
class FleetCreateArguments:
    """The options that only `fleet create` has."""

    check: Annotated[
        bool,
        typer.Option(
            "--check", envvar="GPUENV_CHECK", help="Only tell what would be done: no machine is changed."
        ),
    ] = False
    yes: o.Yes = False
    verify: o.Verify = True
    force: o.Force = False
    shared_home: Annotated[
        bool | None,
        typer.Option(
            "--shared-home/--own-homes",
            envvar="GPUENV_SHARED_HOME",
            help="Whether the machines share a home, so that each of several groups needs a name of its own: "
            "NAME-cu126. Left out: with Slurm they do, with Ansible they do not.",
            show_default=False,
        ),
    ] = None
