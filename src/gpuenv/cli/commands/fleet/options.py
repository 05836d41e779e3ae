"""The options of `gpuenv fleet`; each has an environment variable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gpuenv.cli import options as o
from gpuenv.cli.declaration import option


@dataclass(frozen=True, slots=True)
class FleetArguments:
    """The options that say which machines a fleet's command is for, and what is kept of it."""

    inventory: Annotated[
        list[Path] | None,
        option("-i --inventory FILE", "An inventory of Ansible: a file, a folder or a program; repeatable."),
    ] = None
    partition: Annotated[str | None, option("-p --partition NAME", "A partition of Slurm.")] = None
    limit: Annotated[
        str | None,
        option("--limit PATTERN", "Only these machines: a pattern of Ansible, or a host list of Slurm."),
    ] = None
    forks: Annotated[
        int | None,
        option(
            "--forks N", "So many machines at a time; left out, as the engine is set up.", min=1, max=10_000
        ),
    ] = None
    timeout_s: Annotated[
        int | None,
        option(
            "--timeout SECONDS",
            "Give up on a machine after this long; left out, never.",
            variable="GPUENV_FLEET_TIMEOUT",
            min=1,
            max=1_000_000,
        ),
    ] = None
    wait_s: Annotated[
        int | None,
        option(
            "--wait SECONDS",
            "Give up on a machine whose job has waited for this long in Slurm's queue.",
            min=1,
            max=1_000_000,
        ),
    ] = None
    slurm_options: Annotated[
        list[str] | None,
        option("--slurm-option OPTION", "An option of Slurm's srun, such as --account=lab; repeatable."),
    ] = None
    report: Annotated[
        Path | None, option("--report FILE", "Write what became of each machine to FILE, as one HTML page.")
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

    check: Annotated[bool, option("--check", "Only tell what would be done: no machine is changed.")] = False
    yes: o.Yes = False
    verify: o.Verify = True
    force: o.Force = False
    shared_home: Annotated[
        bool | None,
        option(
            "--shared-home/--own-homes",
            "Whether the machines share a home, so that each of several groups needs a name of its own: "
            "NAME-cu126. Left out: with Slurm they do, with Ansible they do not.",
            show_default=False,
        ),
    ] = None
