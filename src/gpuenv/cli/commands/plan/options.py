"""The options of `plan`, `create`, `dockerfile` and `bootstrap`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from gpuenv.cli import options as o
from gpuenv.cli.choices import AcceleratorName, ChannelName, ManagerName, PlatformName
from gpuenv.cli.completion import complete_gpu
from gpuenv.cli.declaration import option
from gpuenv.cli.output import bad_usage
from gpuenv.i18n.messages import tr


class RequestArguments(Struct, frozen=True):
    """The options that say what to plan for, on one machine or many."""

    requirements: o.Requirements = None
    requirement_files: o.RequirementFiles = None
    environment_file: o.EnvironmentFile = None
    python: o.Python = None
    cuda: o.Cuda = "auto"
    mirrors: o.Mirrors = None
    find_links: o.FindLinks = None
    offline: o.Offline = False
    only_binary: o.OnlyBinary = False


class PlanArguments(RequestArguments, frozen=True):
    """The options of `plan`, `create`, `dockerfile` and `bootstrap`."""

    machines: Annotated[
        list[Path] | None,
        option(
            "--machine FILE",
            "Plan for a saved `gpuenv detect --json`; if repeated: one plan for all, or the fewest.",
        ),
    ] = None
    machine_folder: Annotated[
        Path | None,
        option(
            "--machines DIR",
            "Plan for all saved machines (*.json) in DIR: one environment, or the fewest groups.",
        ),
    ] = None
    driver: Annotated[
        str | None, option("--driver VERSION", "Describe the machine: its NVIDIA driver, such as 535.104.05.")
    ] = None
    gpus: Annotated[
        list[str] | None,
        option(
            "--gpu NAME|CC",
            "Describe the machine: a GPU by name or architecture (8.6, gfx1100); repeatable. [env var: "
            "GPUENV_GPU, separated by commas]",
            variable="",
            autocompletion=complete_gpu,
        ),
    ] = None
    platform: Annotated[PlatformName | None, option("--platform", "Describe the machine: its platform.")] = (
        None
    )
    glibc: Annotated[
        str | None, option("--glibc VERSION", "Describe the machine: its glibc, such as 2.17.")
    ] = None
    accelerator: Annotated[
        AcceleratorName,
        option("--accelerator", "Kind of GPU to plan for; auto is the one of the machine."),
    ] = "auto"
    macos: Annotated[
        str | None, option("--macos VERSION", "Describe the machine: its macOS, such as 14.5.")
    ] = None
    l4t: Annotated[
        str | None, option("--l4t VERSION", "Describe the machine: its Jetson Linux, such as 36.4.3.")
    ] = None
    jetpack: Annotated[
        str | None, option("--jetpack VERSION", "Describe the machine: its JetPack, such as 6.2.")
    ] = None
    cann: Annotated[
        str | None, option("--cann VERSION", "Describe the machine: its CANN, such as 8.2.RC1.")
    ] = None
    amdgpu: Annotated[
        str | None,
        option("--amdgpu VERSION", "Describe the machine: AMD's kernel driver, such as 6.16.13."),
    ] = None
    wsl: Annotated[bool, option("--wsl", "Describe the machine: it is WSL2.")] = False
    devices: o.Devices = None
    manager: Annotated[
        ManagerName,
        option("--manager", "Installer to use; auto picks a conda tool if one is found, otherwise uv."),
    ] = "auto"
    channel: Annotated[
        ChannelName,
        option(
            "--channel",
            "Source of torch if a conda tool installs; auto is wheels, or conda-forge if --mirror "
            "names none that carries wheels.",
        ),
    ] = "auto"
    fetch_hashes: Annotated[
        bool,
        option(
            "--fetch-hashes",
            "Download files whose hash is not published, if the format needs hashes, and compute it.",
        ),
    ] = False


class CreateArguments(Struct, frozen=True):
    """The options that only `create` has."""

    from_lock: Annotated[
        Path | None,
        option(
            "--from-lock FILE|DIR",
            "Install exactly the files of a pylock.toml, if its torch works on this machine; of a directory "
            "of them, the one that fits best.",
        ),
    ] = None
    dry_run: o.DryRun = False
    yes: o.Yes = False
    verify: o.Verify = True
    force: o.Force = False
    replace_foreign: o.ReplaceForeign = False


class AdaptArguments(Struct, frozen=True):
    """The options that adapt dependency files."""

    adapt: Annotated[
        bool,
        option(
            "--adapt",
            "Adapt existing dependency files (-r, -f, or a path: pyproject.toml, setup.py, a "
            "directory): find the nearest set that works here, as a patch of these files.",
        ),
    ] = False
    write: Annotated[
        bool,
        option(
            "--write",
            "With --adapt: write the changes to the files; backups are kept next to them.",
            variable="GPUENV_ADAPT_WRITE",
        ),
    ] = False
    exclude_newer: Annotated[
        str | None,
        option(
            "--exclude-newer DATE|git",
            "With --adapt: resolve the other packages as of a date (2021-06-30), or of the last "
            "commit (git).",
        ),
    ] = None
    source: Annotated[
        Path | None,
        option(
            "--source FILE",
            "With --adapt: the file that is followed where several say different things.",
        ),
    ] = None


class BootstrapArguments(Struct, frozen=True):
    """The options that only `bootstrap` has."""

    name: Annotated[
        str | None,
        option(
            "--name NAME",
            "The environment that the script creates (default: torch). With a lab.toml: only this one.",
        ),
    ] = None
    pin: Annotated[
        bool, option("--pin", "Resolve now, once for all machines: the script contains a lock.")
    ] = False
    version: Annotated[
        str | None,
        option(
            "--gpuenv VERSION",
            "Required version of gpuenv in the script, which is this one: 0.1.0, '>=0.1'.",
            variable="GPUENV_BOOTSTRAP_GPUENV",
        ),
    ] = None
    launcher: Annotated[
        bool, option("--launcher", "The script adds gpuenv to ~/.local/bin without confirmation.")
    ] = False
    verify: o.Verify = True


def check_without_adapt(arguments: AdaptArguments) -> None:
    """Raise UsageError for options that mean nothing without `--adapt`."""
    options = (
        ("--write", arguments.write),
        ("--exclude-newer", arguments.exclude_newer),
        ("--source", arguments.source),
    )
    given = next((name for name, value in options if value), None)
    if given is not None:
        raise bad_usage(tr("{option} requires --adapt", option=given), tr("add --adapt, or omit this option"))


def check_one_variant(variants: list[str] | None, other: str) -> None:
    """Raise UsageError where `--for` is given with what is for one variant."""
    if variants:
        raise bad_usage(tr("--for cannot be used with {option}", option=other), tr("omit one of the two"))
