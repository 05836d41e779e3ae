"""The environments: which there are, entering, copying and changing them."""

from __future__ import annotations

from typing import Annotated

from gpuenv.cli import options as o
from gpuenv.cli.choices import FormatName
from gpuenv.cli.commands.environments.options import ChangeArguments, KernelArguments
from gpuenv.cli.completion import complete_environment
from gpuenv.cli.declaration import Declared, argument, option

declared = Declared()


@declared.command("list")
def list_environments(
    everything: Annotated[
        bool, option("--all", "Include conda environments that gpuenv did not create.")
    ] = False,
    *,
    console: o.CommonOptions,
) -> int:
    """List the environments created by gpuenv."""
    from gpuenv.cli.commands.environments import manage as command  # noqa: PLC0415

    return command.list_environments(console, everything=everything)


@declared.command(
    context_settings={"allow_interspersed_args": False}, short_help="Run a command in an environment."
)
def run(
    name: o.EnvironmentName,
    argv: Annotated[list[str] | None, argument("[-- CMD...]", "The command and its arguments.")] = None,
    *,
    console: o.CommonOptions,
) -> int:
    """Run a command in an environment: gpuenv run NAME -- python train.py; without a command, a shell.

    The output is the command's own; options before NAME apply to gpuenv, if the command cannot be started.
    """
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    del console
    return command.run(name, argv or [])


@declared.command(short_help="Print what activates an environment in this shell.")
def activate(name: o.EnvironmentName, shell: o.Shell = None, *, console: o.CommonOptions) -> int:
    """Print the command that activates an environment in this shell: eval "$(gpuenv activate NAME)".

    In fish: gpuenv activate NAME | source. PowerShell and cmd: run the printed line. `deactivate` leaves it.
    """
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    return command.activate(name, shell, console)


@declared.command(short_help="Open a shell in which an environment is active.")
def shell(name: o.EnvironmentName, shell: o.Shell = None, *, console: o.CommonOptions) -> int:
    """Open a shell in which an environment is active; leave it with `exit`."""
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    return command.shell(name, shell, quiet=console.quiet)


@declared.command(short_help="Register an environment as a Jupyter kernel.")
def kernel(name: o.EnvironmentName, *, arguments: KernelArguments, console: o.CommonOptions) -> int:
    """Register an environment as a Jupyter kernel; `remove` removes it with the environment.

    If ipykernel is missing, it is installed first after confirmation, without changing torch.
    """
    from gpuenv.cli.commands.environments import kernel as command  # noqa: PLC0415

    return command.kernel(name, arguments, console)


@declared.command()
def remove(name: o.EnvironmentName, yes: o.Yes = False, *, console: o.CommonOptions) -> int:
    """Remove an environment created by gpuenv."""
    from gpuenv.cli.commands.environments import manage as command  # noqa: PLC0415

    return command.remove(name, console, yes=yes)


@declared.command(short_help="Copy an environment without downloading.")
def clone(
    source: Annotated[str, argument("SRC", autocompletion=complete_environment)],
    name: Annotated[str, argument("NEW", "The copy's name, or a path.")],
    dry_run: o.DryRun = False,
    yes: o.Yes = False,
    verify: o.Verify = True,
    *,
    console: o.CommonOptions,
) -> int:
    """Copy an environment with everything installed in it, without downloading.

    The two share no files: installing into one does not change the other. The copy is verified.
    """
    from gpuenv.cli.commands.environments import clone as command  # noqa: PLC0415

    return command.clone(source, name, console, yes=yes, dry_run=dry_run, prove=verify)


@declared.command(short_help="Rename or move an environment.")
def rename(
    old: Annotated[str, argument("OLD", autocompletion=complete_environment)],
    new: Annotated[str, argument("NEW", "The new name, or a path.")],
    *,
    console: o.CommonOptions,
) -> int:
    """Rename an environment or move it to another path on the same disk; kernels and logs are updated."""
    from gpuenv.cli.commands.environments import rename as command  # noqa: PLC0415

    return command.rename(old, new, console)


@declared.command(short_help="Install packages; torch is kept.")
def install(
    name: o.EnvironmentName,
    requirements: Annotated[list[str] | None, argument("[REQ]...", "PEP 508 requirements.")] = None,
    requirement_files: o.RequirementFiles = None,
    *,
    arguments: ChangeArguments,
    console: o.CommonOptions,
) -> int:
    """Install packages into an environment; torch is kept, and a change that fails is rolled back.

    With --torch, torch may change to another version that works on this machine, if a package needs it.
    """
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.install(name, requirements or [], requirement_files or [], arguments, console)


@declared.command(short_help="Remove packages from an environment.")
def uninstall(
    name: o.EnvironmentName,
    packages: Annotated[list[str], argument("PKG...", "Package names.")],
    prune: Annotated[bool, option("--prune", "Also remove dependencies that nothing else requires.")] = False,
    *,
    arguments: ChangeArguments,
    console: o.CommonOptions,
) -> int:
    """Remove packages from an environment; packages that depend on them are listed first."""
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.uninstall(name, packages, arguments, console, prune=prune)


@declared.command(short_help="Update packages; torch only with --torch.")
def update(name: o.EnvironmentName, *, arguments: ChangeArguments, console: o.CommonOptions) -> int:
    """Update packages of an environment; torch only with --torch."""
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.update(name, arguments, console)


@declared.command(short_help="Export the exact versions for other tools.")
def export(
    name: o.EnvironmentName,
    format_name: Annotated[
        FormatName | None,
        option(
            "--format FORMAT",
            "Any format of `gpuenv plan`; default: environment.yml for a conda tool's environment, "
            "otherwise requirements.txt.",
            show_default=False,
        ),
    ] = None,
    output: o.Output = None,
    *,
    mirrors: o.Mirrors = None,
    find_links: o.FindLinks = None,
    offline: o.Offline = False,
    console: o.CommonOptions,
) -> int:
    """Export the exact versions installed in an environment to a file for other tools."""
    from gpuenv.changes.open_environment import ChangeOptions  # noqa: PLC0415
    from gpuenv.cli.commands.environments import export as command  # noqa: PLC0415

    options = ChangeOptions(tuple(mirrors or ()), tuple(find_links or ()), offline)
    return command.export(name, format_name, o.path_of(output), options, console)
