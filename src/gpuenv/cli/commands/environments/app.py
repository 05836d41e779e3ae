"""The environments: which there are, entering, copying and changing them."""

from __future__ import annotations

from pathlib import Path
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
    common: o.Common,
) -> int:
    """List the environments created by gpuenv."""
    from gpuenv.cli.commands.environments import manage as command  # noqa: PLC0415

    return command.list_environments(common, everything=everything)


@declared.command(context_settings={"allow_interspersed_args": False})
def run(
    name: o.EnvironmentName,
    argv: Annotated[list[str] | None, argument("[-- CMD...]", "The command and its arguments.")] = None,
    *,
    common: o.Common,
) -> int:
    """Run a command in an environment: gpuenv run NAME -- python train.py; without a command, a shell.

    The output is the command's own; options before NAME apply to gpuenv, if the command cannot be started.
    """
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    del common
    return command.run(name, argv or [])


@declared.command()
def activate(name: o.EnvironmentName, shell: o.Shell = None, *, common: o.Common) -> int:
    """Print the command that activates an environment in this shell: eval "$(gpuenv activate NAME)".

    In fish: gpuenv activate NAME | source. PowerShell and cmd: run the printed line. `deactivate` leaves it.
    """
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    return command.activate(name, shell.value if shell else None, common)


@declared.command()
def shell(name: o.EnvironmentName, shell: o.Shell = None, *, common: o.Common) -> int:
    """Open a shell in which an environment is active; leave it with `exit`."""
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    return command.shell(name, shell.value if shell else None, quiet=common.quiet)


@declared.command()
def kernel(name: o.EnvironmentName, *, arguments: KernelArguments, common: o.Common) -> int:
    """Register an environment as a Jupyter kernel; `remove` removes it with the environment.

    If ipykernel is missing, it is installed first after confirmation, without changing torch.
    """
    from gpuenv.cli.commands.environments import kernel as command  # noqa: PLC0415

    return command.kernel(name, arguments, common)


@declared.command()
def remove(
    name: Annotated[str, argument("NAME", autocompletion=complete_environment)],
    yes: o.Yes = False,
    *,
    common: o.Common,
) -> int:
    """Remove an environment created by gpuenv."""
    from gpuenv.cli.commands.environments import manage as command  # noqa: PLC0415

    return command.remove(name, common, yes=yes)


@declared.command()
def clone(
    source: Annotated[str, argument("SRC", autocompletion=complete_environment)],
    name: Annotated[str, argument("NEW", "The copy's name, or a path.")],
    dry_run: Annotated[bool, option("--dry-run", "Only show what would be copied.")] = False,
    yes: o.Yes = False,
    verify: o.Verify = True,
    *,
    common: o.Common,
) -> int:
    """Copy an environment with everything installed in it, without downloading.

    The two share no files: installing into one does not change the other. The copy is verified.
    """
    from gpuenv.cli.commands.environments import clone as command  # noqa: PLC0415

    return command.clone(source, name, common, yes=yes, dry_run=dry_run, prove=verify)


@declared.command()
def rename(
    old: Annotated[str, argument("OLD", autocompletion=complete_environment)],
    new: Annotated[str, argument("NEW", "The new name, or a path.")],
    *,
    common: o.Common,
) -> int:
    """Rename an environment or move it to another path on the same disk; kernels and logs are updated."""
    from gpuenv.cli.commands.environments import rename as command  # noqa: PLC0415

    return command.rename(old, new, common)


@declared.command()
def install(
    name: o.EnvironmentName,
    requirements: Annotated[list[str] | None, argument("[REQ]...", "PEP 508 requirements.")] = None,
    requirement_files: o.RequirementFiles = None,
    *,
    arguments: ChangeArguments,
    common: o.Common,
) -> int:
    """Install packages into an environment; torch is kept, and a change that fails is rolled back.

    With --torch, torch may change to another version that works on this machine, if a package needs it.
    """
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.install(name, requirements or [], requirement_files or [], arguments, common)


@declared.command()
def uninstall(
    name: o.EnvironmentName,
    packages: Annotated[list[str], argument("PKG...", "Package names.")],
    prune: Annotated[bool, option("--prune", "Also remove dependencies that nothing else requires.")] = False,
    *,
    arguments: ChangeArguments,
    common: o.Common,
) -> int:
    """Remove packages from an environment; packages that depend on them are listed first."""
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.uninstall(name, packages, arguments, common, prune=prune)


@declared.command()
def update(name: o.EnvironmentName, *, arguments: ChangeArguments, common: o.Common) -> int:
    """Update packages of an environment; torch only with --torch."""
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.update(name, arguments, common)


@declared.command()
def export(
    name: o.EnvironmentName,
    format_name: Annotated[
        FormatName | None,
        option(
            "--format",
            "Any format of `gpuenv plan`; default: environment.yml for a conda tool's environment, "
            "otherwise requirements.txt.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path | None, option("-o --output FILE", "Write the text to FILE.")] = None,
    *,
    mirrors: o.Mirrors = None,
    find_links: o.FindLinks = None,
    offline: o.Offline = False,
    common: o.Common,
) -> int:
    """Export the exact versions installed in an environment to a file for other tools."""
    from gpuenv.changes.open_environment import ChangeOptions  # noqa: PLC0415
    from gpuenv.cli.commands.environments import export as command  # noqa: PLC0415

    options = ChangeOptions(tuple(mirrors or ()), tuple(find_links or ()), offline)
    return command.export(name, format_name, output, options, common)
