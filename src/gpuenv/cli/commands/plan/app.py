"""What is planned, and made by a plan."""

from __future__ import annotations

from typing import Annotated

from gpuenv.cli import options as o
from gpuenv.cli.choices import FormatName
from gpuenv.cli.commands.plan import options as p
from gpuenv.cli.declaration import Declared, argument, option

declared = Declared()


@declared.command(short_help="Show what would be installed and why.")
def plan(
    format_name: Annotated[
        FormatName,
        option(
            "--format FORMAT",
            "Output format: text, json, environment.yml, requirements.txt, pylock.toml, pyproject, "
            "pixi.toml, dockerfile, devcontainer, bootstrap, ansible (a directory of files), slurm (a "
            "script for sbatch), or pip or uv (commands to paste).",
        ),
    ] = "text",
    output: o.Output = None,
    variants: Annotated[
        list[str] | None,
        option(
            "--for VARIANT",
            "Write one project for several variants (cpu, cu126), of which a machine takes one; repeatable.",
        ),
    ] = None,
    *,
    arguments: p.AdaptArguments,
    wanted: p.PlanArguments,
    console: o.CommonOptions,
) -> int:
    """Show what would be installed and why; changes no files except with --adapt --write."""
    if arguments.adapt:
        from gpuenv.cli.commands.plan import adapt as plan_adapt  # noqa: PLC0415

        p.check_one_variant(variants, "--adapt")
        return plan_adapt.plan_adapted(wanted, arguments, format_name, o.path_of(output), console)
    p.check_without_adapt(arguments)
    if format_name == "bootstrap":
        p.check_one_variant(variants, "--format bootstrap")
        from gpuenv.cli.commands import bootstrap  # noqa: PLC0415

        return bootstrap.bootstrap(wanted, p.BootstrapArguments(pin=True), None, output, console)
    from gpuenv.cli.commands.plan import plan as command  # noqa: PLC0415

    if variants:
        return command.plan_variants(variants, wanted, format_name, o.path_of(output), console)
    return command.plan(wanted, format_name, o.path_of(output), console)


@declared.command(short_help="Write a Dockerfile with every file by its hash.")
def dockerfile(
    base: Annotated[
        str,
        option(
            "--base slim|cuda-runtime|cuda-devel|IMAGE",
            "Base image: python, as the wheels bring CUDA; with CUDA's libraries; with its compiler, "
            "in a separate stage; or your own image that has a Python.",
        ),
    ] = "slim",
    output: o.Output = None,
    *,
    wanted: p.PlanArguments,
    console: o.CommonOptions,
) -> int:
    """Write a Dockerfile: exactly the plan's files by hash, checked for its GPUs during the build.

    With --gpu it plans for other machines: gpuenv dockerfile --gpu 8.6 --gpu 9.0 -o Dockerfile.gpu

    A .dockerignore is written next to FILE if there is none.
    """
    from gpuenv.cli.commands import dockerfile as command  # noqa: PLC0415

    return command.dockerfile(wanted, base, o.path_of(output), console)


@declared.command(short_help="Create an environment that works on these GPUs.")
def create(
    name: Annotated[
        str | None,
        argument(
            "NAME", "The environment: a name or a path; default for a lab.toml: all of its environments."
        ),
    ] = None,
    lab: o.LabFile = None,
    *,
    chosen: p.CreateArguments,
    arguments: p.AdaptArguments,
    wanted: p.PlanArguments,
    console: o.CommonOptions,
) -> int:
    """Plan, show, apply, verify: create an environment that works on this machine's GPUs."""
    from gpuenv.cli.commands.create import create as command  # noqa: PLC0415

    if arguments.adapt:
        from gpuenv.cli.commands.create import adapt as create_adapt  # noqa: PLC0415

        return create_adapt.create_adapted(command.given(name), lab, wanted, arguments, chosen, console)
    p.check_without_adapt(arguments)
    if lab is not None:
        from gpuenv.cli.commands.create.lab import create_lab  # noqa: PLC0415

        return create_lab(lab, name, wanted, chosen, console)
    return command.create(command.given(name), wanted, chosen, console)


@declared.command(short_help="Write a script that sets up a bare Linux machine.")
def bootstrap(
    lab: o.LabFile = None,
    output: o.Output = None,
    *,
    arguments: p.BootstrapArguments,
    wanted: p.PlanArguments,
    console: o.CommonOptions,
) -> int:
    """Write a script that sets up a bare Linux machine: a Python, gpuenv, environments.

    It needs sh, tar and one of curl, wget and python3, no root. Each machine resolves for itself, unless
    --pin resolves now. The script is safe to run again, resumes what was interrupted, and can remove
    what it created. With a trailing slash, -o DIR/ writes a directory with the script and everything it
    needs, for use without an index.
    """
    from gpuenv.cli.commands import bootstrap as command  # noqa: PLC0415

    return command.bootstrap(wanted, arguments, lab, output, console)
