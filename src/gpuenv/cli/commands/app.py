"""The commands that have no folder of their own; `cache` and `self` keep gpuenv's own house."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpuenv.cli import options as o
from gpuenv.cli.commands.doctor.options import DoctorArguments
from gpuenv.cli.completion import complete_environment, complete_pack, complete_scene
from gpuenv.cli.declaration import Declared, argument, option

declared = Declared()
cache = declared.group("cache", "Show and clean gpuenv's own cache.")
own = declared.group("self", "gpuenv itself: show its version.")


@declared.command(short_help="Show this machine: driver, GPUs, system, Pythons.")
def detect(
    preview: o.Preview = None,
    root: Annotated[
        Path | None,
        option("--root DIR", "Read the machine's files below DIR, and run the programs in DIR/bin alone."),
    ] = None,
    *,
    console: o.CommonOptions,
) -> int:
    """Show what this machine is: driver, GPUs, system, toolkit, conda tools, Pythons.

    Save `gpuenv detect --json` on one machine to plan for it on another: `gpuenv plan --machine FILE`.
    """
    from gpuenv.cli.commands import detect as command  # noqa: PLC0415

    return command.detect(console, with_variants=preview is not None, root=root)


@declared.command(short_help="Run real operations on every GPU in an environment.")
def verify(
    environment: o.Environment = None,
    devices: o.Devices = None,
    with_compile: o.Compile = False,
    nccl: o.Nccl = False,
    timeout_s: Annotated[float, option("--timeout SECONDS", "Time limit.")] = 300,
    trust: o.Trust = False,
    *,
    console: o.CommonOptions,
) -> int:
    """Test an environment by running real operations on every GPU."""
    from gpuenv.cli.commands import verify as command  # noqa: PLC0415
    from gpuenv.operations.verify import VerifyOptions  # noqa: PLC0415

    limit_s = command.check_limit(timeout_s)
    options = VerifyOptions(tuple(devices) if devices else None, with_compile, nccl, limit_s, trust)
    return command.verify(environment, options, console)


@declared.command(short_help="Find out why torch does not use the GPU; --fix.")
def doctor(environment: o.Environment = None, *, arguments: DoctorArguments, console: o.CommonOptions) -> int:
    """Explain why torch does not use the GPU: the root cause, its requirement, and the command to fix it."""
    from gpuenv.cli.commands.doctor import doctor as command  # noqa: PLC0415

    return command.doctor(environment, arguments, console)


@declared.command(short_help="Explain an error message or a whole log.")
def explain(
    words: Annotated[
        list[str] | None, argument("[TEXT|FILE|-]...", "An error message, a log, or - for standard input.")
    ] = None,
    pack: Annotated[
        list[str] | None,
        option(
            "--pack NAME",
            "Only know causes of this subject, such as core; repeatable.",
            autocompletion=complete_pack,
        ),
    ] = None,
    without_pack: Annotated[
        list[str] | None,
        option(
            "--without-pack NAME",
            "Leave out causes of this subject; repeatable.",
            autocompletion=complete_pack,
        ),
    ] = None,
    *,
    console: o.CommonOptions,
) -> int:
    """Explain an error message or a whole log: cause, category, fix.

    Only the last 16 MB of a log are read. If another environment fixes the error, its command is
    planned for this machine.
    """
    from gpuenv.cli.commands import explain as command  # noqa: PLC0415

    return command.explain(tuple(words or ()), console, pack or (), without_pack or ())


@declared.command(short_help="Print what a bug report needs, without secrets.")
def info(
    name: Annotated[
        str | None,
        argument("[NAME]", "An environment created by gpuenv.", autocompletion=complete_environment),
    ] = None,
    *,
    console: o.CommonOptions,
) -> int:
    """Print information for a bug report: gpuenv, machine, variables, packages; never passwords."""
    from gpuenv.cli.commands import info as command  # noqa: PLC0415

    return command.info(name, console)


@declared.command(short_help="Play machines from GTX 1080 Ti to B200, offline.")
def demo(
    scenes: Annotated[
        list[str] | None,
        argument("[SCENE]...", "Default: all scenes.", autocompletion=complete_scene),
    ] = None,
    listed: Annotated[bool, option("--list", "List the scenes.", variable="GPUENV_DEMO_LIST")] = False,
    *,
    console: o.CommonOptions,
) -> int:
    """Play machines that are not here, from GTX 1080 Ti to B200: a command, and what gpuenv answers.

    Nothing is canned: gpuenv itself plans, refuses, diagnoses and explains, offline, from the matrices.
    """
    from gpuenv.cli.commands import demo as command  # noqa: PLC0415

    return command.list_scenes(console) if listed else command.demo(tuple(scenes or ()), console)


@declared.command()
def version(*, console: o.CommonOptions) -> int:
    """Print gpuenv's version."""
    from gpuenv.cli.commands import info as command  # noqa: PLC0415

    return command.version(console)


@declared.command("help")
def help_of_command(
    context: typer.Context,
    words: Annotated[list[str] | None, argument("[COMMAND]...", "Default: all commands.")] = None,
) -> None:
    """Print the help of a command: `gpuenv help mirrors use`."""
    root = context.find_root()
    root.command.main([*(words or ()), "--help"], prog_name="gpuenv", standalone_mode=False)


@cache.command("dir")
def cache_directory(*, console: o.CommonOptions) -> int:
    """Print the cache directory."""
    from gpuenv.cli.commands import cache as command  # noqa: PLC0415

    return command.directory(console)


@cache.command("size", short_help="List the content of the cache with sizes.")
def cache_size(*, console: o.CommonOptions) -> int:
    """List the content of the cache with sizes; uv's own cache is shared with uv and not counted."""
    from gpuenv.cli.commands import cache as command  # noqa: PLC0415

    return command.size(console)


@cache.command("clean", short_help="Clean the cache; environments keep working.")
def cache_clean(
    with_uv: Annotated[
        bool,
        option(
            "--uv", "Also run `uv cache clean`, which removes all of uv's cache.", variable="GPUENV_CLEAN_UV"
        ),
    ] = False,
    yes: o.Yes = False,
    *,
    console: o.CommonOptions,
) -> int:
    """Clean the cache; environments keep working, and uv's own cache is kept.

    Files in use by a running gpuenv are kept. The next plan reads the indexes again.
    """
    from gpuenv.cli.commands import cache as command  # noqa: PLC0415

    return command.clean(console, with_uv=with_uv, yes=yes)


@own.command("version", short_help="Print gpuenv's version, or look for a newer one.")
def self_version(
    check: Annotated[
        bool,
        option("--check", "Also check your indexes for a newer version.", variable="GPUENV_SELF_CHECK"),
    ] = False,
    offline: o.Offline = False,
    *,
    console: o.CommonOptions,
) -> int:
    """Print gpuenv's version; accesses an index only with --check."""
    from gpuenv.cli.commands import own_version as command  # noqa: PLC0415

    return command.own_version(console, check=check, offline=offline)
