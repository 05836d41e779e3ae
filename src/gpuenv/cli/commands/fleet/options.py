"""The options of `gpuenv fleet`; each has an environment variable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from gpuenv.cli import options as o
from gpuenv.cli.declaration import option


class FleetArguments(Struct, frozen=True):
    """The options that select the machines of a fleet command, and its report."""

    inventory: Annotated[
        list[Path] | None,
        option("-i --inventory FILE", "Ansible inventory: a file, a directory or a program; repeatable."),
    ] = None
    partition: Annotated[str | None, option("-p --partition NAME", "Slurm partition.")] = None
    limit: Annotated[
        str | None,
        option("--limit PATTERN", "Only these machines: an Ansible pattern, or a Slurm host list."),
    ] = None
    forks: Annotated[
        int | None,
        option(
            "--forks N",
            "Number of machines at a time; default: as configured for the engine.",
            min=1,
            max=10_000,
        ),
    ] = None
    timeout_s: Annotated[
        int | None,
        option(
            "--timeout SECONDS",
            "Time limit per machine (default: none).",
            variable="GPUENV_FLEET_TIMEOUT",
            min=1,
            max=1_000_000,
        ),
    ] = None
    wait_s: Annotated[
        int | None,
        option(
            "--wait SECONDS",
            "Time limit for a machine's job to wait in Slurm's queue.",
            min=1,
            max=1_000_000,
        ),
    ] = None
    slurm_options: Annotated[
        list[str] | None,
        option(
            "--slurm-option OPTION", "Additional option for Slurm's srun, such as --account=lab; repeatable."
        ),
    ] = None
    report: Annotated[
        Path | None, option("--report FILE", "Write the result for each machine to FILE, as an HTML page.")
    ] = None


class FleetCreateArguments(Struct, frozen=True):
    """The options that only `fleet create` has."""

    check: Annotated[bool, option("--check", "Dry run: do not change any machine.")] = False
    yes: o.Yes = False
    verify: o.Verify = True
    force: o.Force = False
    shared_home: Annotated[
        bool | None,
        option(
            "--shared-home/--own-homes",
            "Whether the machines share a home directory, so that groups need separate names: "
            "NAME-cu126. Default: yes with Slurm, no with Ansible.",
            show_default=False,
        ),
    ] = None
