"""The commands: each parses options, calls one function of the workflow, prints.

The workflow is imported inside the commands, so that `gpuenv detect` does not load what only `plan` needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gpuenv.cli import options as o
from gpuenv.cli.commands.fleet.app import fleet_app
from gpuenv.cli.commands.own_app import cache_app, self_app


class Interrupted(Exception):  # noqa: N818 - a signal, no error
    """Ctrl-C, or SIGTERM, while a command ran."""


class _Commands(TyperGroup):
    """Lets Ctrl-C through to the one place that tells it; typer would end with a status alone."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        try:  # the options are parsed here
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt:
            raise Interrupted from None


app = typer.Typer(
    cls=_Commands,
    name="gpuenv",
    help="A PyTorch environment that really works on the GPU in front of you: gpuenv create NAME",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
matrix_app = typer.Typer(
    help="The compatibility matrices: look, validate, bring up to date.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(matrix_app, name="matrix")
mirrors_app = typer.Typer(
    help="The mirrors: which there are, which of them serve, and pip's, uv's and conda's configuration.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(mirrors_app, name="mirrors")
app.add_typer(fleet_app, name="fleet")
app.add_typer(cache_app, name="cache")
app.add_typer(self_app, name="self")


def _version(value: bool) -> None:
    if value:
        from gpuenv import __version__  # noqa: PLC0415

        typer.echo(f"gpuenv {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    lang: o.Language = o.LanguageName.auto,
) -> None: ...


@matrix_app.callback()
@mirrors_app.callback()
def _group(lang: o.Language = o.LanguageName.auto) -> None: ...


@app.command()
@o.grouped
def detect(
    *,
    common: o.Common,
) -> int:
    """Tell what this machine is: driver, GPUs, system, toolkit, conda tools, Pythons.

    Save `gpuenv detect --json` on one machine to plan for it on another: `gpuenv plan --machine FILE`.
    """
    from gpuenv.cli.commands import detect as command  # noqa: PLC0415

    return command.detect(common)


@app.command()
@o.grouped
def plan(
    format_name: Annotated[
        o.FormatName,
        typer.Option(
            "--format",
            envvar="GPUENV_FORMAT",
            help="How to print the plan; pip and uv are commands to paste, ansible is a folder of files, "
            "slurm a script for sbatch.",
        ),
    ] = o.FormatName.text,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", envvar="GPUENV_OUTPUT", help="Write the plan to FILE."
        ),
    ] = None,
    *,
    asked: o.AdaptArguments,
    wanted: o.PlanArguments,
    common: o.Common,
) -> int:
    """Decide and explain; change nothing but what --adapt --write was given."""
    if asked.adapt:
        from gpuenv.cli.commands.plan import adapt as plan_adapt  # noqa: PLC0415

        return plan_adapt.plan_adapted(wanted, asked, format_name.value, output, common)
    o.check_without_adapt(asked)
    if format_name is o.FormatName.bootstrap:
        from gpuenv.cli.commands import bootstrap  # noqa: PLC0415

        return bootstrap.bootstrap(wanted, o.BootstrapArguments(pin=True), None, output, common)
    from gpuenv.cli.commands.plan import plan as command  # noqa: PLC0415

    return command.plan(wanted, format_name.value, output, common)


@app.command()
@o.grouped
def dockerfile(
    base: Annotated[
        str,
        typer.Option(
            "--base",
            metavar="slim|cuda-runtime|cuda-devel|IMAGE",
            envvar="GPUENV_BASE",
            help="What to start from: a Python alone, as the wheels bring CUDA; CUDA's libraries beside; its "
            "compiler as well, in a stage of its own; or an image of yours that has a Python.",
        ),
    ] = "slim",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            envvar="GPUENV_OUTPUT",
            help="Write the Dockerfile to FILE, and a .dockerignore beside it where there is none.",
        ),
    ] = None,
    *,
    wanted: o.PlanArguments,
    common: o.Common,
) -> int:
    """Write a Dockerfile: the plan's very files by their hashes, checked for its GPUs while it is built.

    With --gpu it plans for machines elsewhere: gpuenv dockerfile --gpu 8.6 --gpu 9.0 -o Dockerfile.gpu
    """
    from gpuenv.cli.commands import dockerfile as command  # noqa: PLC0415

    return command.dockerfile(wanted, base, output, common)


@app.command()
@o.grouped
def create(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The environment: a name, or a path; of a lab.toml left out: all of them.",
            show_default=False,
        ),
    ] = None,
    lab: o.LabFile = None,
    *,
    chosen: o.CreateArguments,
    asked: o.AdaptArguments,
    wanted: o.PlanArguments,
    common: o.Common,
) -> int:
    """Plan, show, apply, verify: make an environment that works on this machine's GPUs."""
    from gpuenv.cli.commands.create import create as command  # noqa: PLC0415

    if asked.adapt:
        from gpuenv.cli.commands.create import adapt as create_adapt  # noqa: PLC0415

        return create_adapt.create_adapted(command.given(name), lab, wanted, asked, chosen, common)
    o.check_without_adapt(asked)
    if lab is not None:
        from gpuenv.cli.commands.create.lab import create_lab  # noqa: PLC0415

        return create_lab(lab, name, wanted, chosen, common)
    return command.create(command.given(name), wanted, chosen, common)


@app.command()
@o.grouped
def bootstrap(
    lab: o.LabFile = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            envvar="GPUENV_OUTPUT",
            help="Write the script to FILE; with a slash at its end (DIR/) it is a folder that gets the "
            "script and all that it needs, for use without an index.",
        ),
    ] = None,
    *,
    asked: o.BootstrapArguments,
    wanted: o.PlanArguments,
    common: o.Common,
) -> int:
    """Write a script that brings all of this to a bare Linux machine: a Python, gpuenv, environments.

    It needs sh, tar and one of curl, wget and python3, no root. Each machine decides for itself what works
    there, unless --pin decides here. It can be run at any time, takes up what was interrupted, and removes
    what it made.
    """
    from gpuenv.cli.commands import bootstrap as command  # noqa: PLC0415

    return command.bootstrap(wanted, asked, lab, output, common)


@app.command()
@o.grouped
def verify(
    environment: o.Environment = None,
    devices: o.Devices = None,
    with_compile: o.Compile = False,
    nccl: o.Nccl = False,
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", envvar="GPUENV_TIMEOUT", help="Give up after this long."
        ),
    ] = 300,
    trust: o.Trust = False,
    *,
    common: o.Common,
) -> int:
    """Run real work on every GPU in an environment and report."""
    from gpuenv.cli.commands import verify as command  # noqa: PLC0415
    from gpuenv.operations.verify import VerifyOptions  # noqa: PLC0415

    limit_s = command.check_limit(timeout_s)
    options = VerifyOptions(tuple(devices) if devices else None, with_compile, nccl, limit_s, trust)
    return command.verify(environment, options, common)


@app.command()
@o.grouped
def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT|FILE|-]...",
            help="An error message, a log, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    common: o.Common,
) -> int:
    """Tell what an error message or a whole log means: cause, class, fix.

    Of a huge log the last 16 MB are read. Where another environment repairs it, the command is planned for
    this machine.
    """
    from gpuenv.cli.commands import explain as command  # noqa: PLC0415

    return command.explain(tuple(words or ()), common)


@app.command()
@o.grouped
def doctor(
    environment: o.Environment = None,
    *,
    asked: o.DoctorArguments,
    common: o.Common,
) -> int:
    """Say why torch does not use the GPU: one root cause, what it needs, and the command that mends it."""
    from gpuenv.cli.commands.doctor import doctor as command  # noqa: PLC0415

    return command.doctor(environment, asked, common)


@app.command("list")
@o.grouped
def list_environments(
    everything: Annotated[
        bool,
        typer.Option("--all", envvar="GPUENV_ALL", help="Conda environments that gpuenv did not make, too."),
    ] = False,
    *,
    common: o.Common,
) -> int:
    """List the environments that gpuenv made."""
    from gpuenv.cli.commands.environments import manage as command  # noqa: PLC0415

    return command.list_environments(common, everything=everything)


@app.command(context_settings={"allow_interspersed_args": False})
@o.grouped
def run(
    name: o.EnvironmentName,
    argv: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- CMD...]", help="The command and its arguments.", show_default=False),
    ] = None,
    *,
    common: o.Common,
) -> int:
    """Run a command in an environment: gpuenv run NAME -- python train.py; without one, a shell.

    What the command prints is its own; the options before NAME say how gpuenv tells that it could not start.
    """
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    del common
    return command.run(name, argv or [])


@app.command()
@o.grouped
def activate(
    name: o.EnvironmentName,
    shell: o.Shell = None,
    *,
    common: o.Common,
) -> int:
    """Print what activates an environment in this shell: eval "$(gpuenv activate NAME)".

    In fish: gpuenv activate NAME | source. PowerShell and cmd get the line to run. `deactivate` leaves it.
    """
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    return command.activate(name, shell.value if shell else None, common)


@app.command()
@o.grouped
def shell(
    name: o.EnvironmentName,
    shell: o.Shell = None,
    *,
    common: o.Common,
) -> int:
    """Open a shell in which an environment is active; `exit` leaves it."""
    from gpuenv.cli.commands.environments import enter as command  # noqa: PLC0415

    return command.shell(name, shell.value if shell else None, quiet=common.quiet)


@app.command()
@o.grouped
def kernel(
    name: o.EnvironmentName,
    *,
    asked: o.KernelArguments,
    common: o.Common,
) -> int:
    """Register an environment as a kernel of Jupyter; `remove` takes it away with the environment.

    Where ipykernel is missing it is installed first, with torch held, after a yes.
    """
    from gpuenv.cli.commands.environments import kernel as command  # noqa: PLC0415

    return command.kernel(name, asked, common)


@app.command()
@o.grouped
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=o.complete_environment)],
    yes: o.Yes = False,
    *,
    common: o.Common,
) -> int:
    """Remove an environment that gpuenv made."""
    from gpuenv.cli.commands.environments import manage as command  # noqa: PLC0415

    return command.remove(name, common, yes=yes)


@app.command()
@o.grouped
def clone(
    source: Annotated[str, typer.Argument(metavar="SRC", autocompletion=o.complete_environment)],
    name: Annotated[str, typer.Argument(metavar="NEW", help="The copy's name, or a path.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", envvar="GPUENV_DRY_RUN", help="Only show what would be copied.")
    ] = False,
    yes: o.Yes = False,
    verify: o.Verify = True,
    *,
    common: o.Common,
) -> int:
    """Copy an environment with all that is installed in it; nothing is fetched.

    The two share no file: what is installed in one does not change the other. The copy is verified.
    """
    from gpuenv.cli.commands.environments import clone as command  # noqa: PLC0415

    return command.clone(source, name, common, yes=yes, dry_run=dry_run, prove=verify)


@app.command()
@o.grouped
def rename(
    old: Annotated[str, typer.Argument(metavar="OLD", autocompletion=o.complete_environment)],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new name, or a path.")],
    *,
    common: o.Common,
) -> int:
    """Give an environment another name, or another path on the same disk; its kernels and logs follow."""
    from gpuenv.cli.commands.environments import rename as command  # noqa: PLC0415

    return command.rename(old, new, common)


_ChangedName = Annotated[str, typer.Argument(metavar="NAME", autocompletion=o.complete_environment)]


@app.command()
@o.grouped
def install(
    name: _ChangedName,
    requirements: Annotated[
        list[str] | None,
        typer.Argument(metavar="[REQ]...", help="PEP 508 requirements.", show_default=False),
    ] = None,
    requirement_files: o.RequirementFiles = None,
    *,
    asked: o.ChangeArguments,
    common: o.Common,
) -> int:
    """Install packages into an environment; its torch stays, and what does not work is undone.

    With --torch another torch that works on this machine may take its place, where a package needs one.
    """
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.install(name, requirements or [], requirement_files or [], asked, common)


@app.command()
@o.grouped
def uninstall(
    name: _ChangedName,
    packages: Annotated[list[str], typer.Argument(metavar="PKG...", help="Names of packages.")],
    prune: Annotated[
        bool,
        typer.Option("--prune", envvar="GPUENV_PRUNE", help="Also remove what only these packages needed."),
    ] = False,
    *,
    asked: o.ChangeArguments,
    common: o.Common,
) -> int:
    """Remove packages from an environment; what needs them is named first."""
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.uninstall(name, packages, asked, common, prune=prune)


@app.command()
@o.grouped
def update(
    name: _ChangedName,
    *,
    asked: o.ChangeArguments,
    common: o.Common,
) -> int:
    """Bring newer versions of what is in an environment; torch only with --torch."""
    from gpuenv.cli.commands.environments import change as command  # noqa: PLC0415

    return command.update(name, asked, common)


@app.command()
@o.grouped
def export(
    name: _ChangedName,
    format_name: Annotated[
        o.FormatName | None,
        typer.Option(
            "--format",
            envvar="GPUENV_FORMAT",
            help="Any format of `gpuenv plan`; left out: environment.yml of a conda tool's, else "
            "requirements.txt.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", envvar="GPUENV_OUTPUT", help="Write the text to FILE."
        ),
    ] = None,
    *,
    mirrors: o.Mirrors = None,
    find_links: o.FindLinks = None,
    offline: o.Offline = False,
    common: o.Common,
) -> int:
    """Print what is installed in an environment, every version exactly, as a file of other tools."""
    from gpuenv.changes.open_environment import ChangeOptions  # noqa: PLC0415
    from gpuenv.cli.commands.environments import export as command  # noqa: PLC0415

    options = ChangeOptions(tuple(mirrors or ()), tuple(find_links or ()), offline)
    return command.export(name, format_name, output, options, common)


@app.command()
@o.grouped
def info(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="An environment that gpuenv made.",
            show_default=False,
            autocompletion=o.complete_environment,
        ),
    ] = None,
    *,
    common: o.Common,
) -> int:
    """Print what a bug report needs: gpuenv, machine, variables, an environment's packages; no passwords."""
    from gpuenv.cli.commands import info as command  # noqa: PLC0415

    return command.info(name, common)


@app.command()
@o.grouped
def version(
    *,
    common: o.Common,
) -> int:
    """Print gpuenv's version."""
    from gpuenv.cli.commands import info as command  # noqa: PLC0415

    return command.version(common)


@app.command("help")
def help_of_command(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="Left out: all commands.", show_default=False),
    ] = None,
) -> None:
    """Print the help of a command: `gpuenv help mirrors use`."""
    root = context.find_root()
    root.command.main([*(words or ()), "--help"], prog_name="gpuenv", standalone_mode=False)


@matrix_app.command("show")
@o.grouped
def matrix_show(
    table: Annotated[
        str,
        typer.Argument(
            metavar="[TABLE]",
            help="torch, cuda, gpus, companions, known-bad, dependencies, libraries, mirrors, conda, "
            "signatures, checks, images, pythons, api-changes or ecosystem.",
        ),
    ] = "torch",
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            envvar="GPUENV_HTML",
            help="Write a page to FILE instead: torch x CUDA x GPU generation, this machine highlighted.",
        ),
    ] = None,
    *,
    common: o.Common,
) -> int:
    """Print a matrix, each row with its source and evidence."""
    from gpuenv.cli.commands.matrix import show as command  # noqa: PLC0415

    return command.show(table, common) if html is None else command.show_page(html, common)


@matrix_app.command("check")
@o.grouped
def matrix_check(
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="DIR",
            envvar="GPUENV_AGAINST",
            help="Another copy of the matrices, no row of which may be missing here.",
        ),
    ] = None,
    *,
    common: o.Common,
) -> int:
    """Validate the matrices: each row by itself, against the others and against what is published."""
    from gpuenv.cli.commands.matrix import show as command  # noqa: PLC0415

    return command.check(common, against)


@matrix_app.command("inspect")
@o.grouped
def matrix_inspect(
    wheel: Annotated[str, typer.Argument(metavar="WHEEL", help="A wheel: a path or a URL.")],
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough", envvar="GPUENV_THOROUGH", help="Read on to the kernels where no list is found."
        ),
    ] = False,
    *,
    common: o.Common,
) -> int:
    """Tell what a wheel of torch is built for, from the wheel itself, without downloading it."""
    from gpuenv.cli.commands.matrix import inspect as command  # noqa: PLC0415

    return command.inspect(wheel, common, thorough=thorough)


@matrix_app.command("refresh")
@o.grouped
def matrix_refresh(
    indexes: Annotated[
        list[str] | None,
        typer.Option(
            "--index",
            metavar="URL",
            envvar="GPUENV_INDEX",
            help="Read this index, not the configured ones; repeatable.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="REQ", envvar="GPUENV_ONLY", help="Only these, such as torch>=2.12; repeatable."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", envvar="GPUENV_DRY_RUN", help="Only list what would be read.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="DIR", envvar="GPUENV_WRITE", help="Merge into the matrices in DIR instead."
        ),
    ] = None,
    reread: Annotated[
        bool,
        typer.Option(
            "--reread", envvar="GPUENV_REREAD", help="Read what is known too, unless from the same file."
        ),
    ] = False,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            envvar="GPUENV_THOROUGH",
            help="Read on to the kernels where no list is found: torch before 1.6, up to 90 MB a wheel.",
        ),
    ] = False,
    *,
    common: o.Common,
) -> int:
    """Find releases that the matrices do not know, and read them from the wheels; plans use them at once."""
    from gpuenv.cli.commands.matrix import refresh as command  # noqa: PLC0415
    from gpuenv.matrix.refresh import RefreshOptions  # noqa: PLC0415

    options = RefreshOptions(tuple(indexes or ()), tuple(only or ()), dry_run, write, reread, thorough)
    return command.run(options, common)


@mirrors_app.command("list")
@o.grouped
def mirrors_list(
    *,
    common: o.Common,
) -> int:
    """List the mirrors that gpuenv knows, the user's own among them, and what each carries."""
    from gpuenv.cli.commands.mirrors import list as command  # noqa: PLC0415

    return command.show(common)


_Tools = Annotated[
    list[o.ConfiguredTool] | None,
    typer.Option(
        "--for", envvar="GPUENV_TOOL", help="Only this tool's configuration; repeatable; mamba reads conda's."
    ),
]
_Print = Annotated[
    bool, typer.Option("--print", envvar="GPUENV_PRINT", help="Only print what would be written.")
]


@mirrors_app.command("check")
@o.grouped
def mirrors_check(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|URL]...",
            help="The mirrors, by name or address; without any, all of them.",
            show_default=False,
            autocompletion=o.complete_mirror,
        ),
    ] = None,
    asked_for: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="REQ",
            envvar="GPUENV_FOR",
            help="Ask about one file: torch==2.14.1+cu126.",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", envvar="GPUENV_AGAIN", help="Measure anew what was measured within a day."),
    ] = False,
    *,
    common: o.Common,
) -> int:
    """Ask the mirrors which of them answer, hold this machine's torch and are up to date, and how fast.

    A part of the very wheel is read from each, side by side. What is found is remembered for a day;
    `--mirror auto` goes by it.
    """
    from gpuenv.cli.commands.mirrors import check as command  # noqa: PLC0415
    from gpuenv.mirrors.check import CheckOptions  # noqa: PLC0415

    return command.check(CheckOptions(tuple(names or ()), asked_for, again), common)


@mirrors_app.command("use")
@o.grouped
def mirrors_use(
    name: Annotated[
        str, typer.Argument(metavar="NAME|URL", help="The mirror.", autocompletion=o.complete_mirror)
    ],
    tools: _Tools = None,
    scope: Annotated[
        o.ScopeName,
        typer.Option(
            "--scope",
            envvar="GPUENV_SCOPE",
            help="Whose configuration: the user's, the active environment's, everybody's.",
        ),
    ] = o.ScopeName.user,
    insecure: Annotated[
        str | None,
        typer.Option(
            "--insecure",
            metavar="NAME",
            envvar="GPUENV_INSECURE",
            help="Take this mirror over plain http.",
        ),
    ] = None,
    print_only: _Print = False,
    yes: o.Yes = False,
    *,
    common: o.Common,
) -> int:
    """Write a mirror into the configuration of pip, uv and conda; `mirrors reset` takes it back."""
    from gpuenv.cli.commands.mirrors import use as command  # noqa: PLC0415
    from gpuenv.mirrors.use import UseOptions  # noqa: PLC0415

    options = UseOptions(o.configured_tools(tools), scope.value, insecure)
    return command.use(name, options, common, print_only=print_only, yes=yes)


@mirrors_app.command("reset")
@o.grouped
def mirrors_reset(
    tools: _Tools = None,
    print_only: _Print = False,
    yes: o.Yes = False,
    *,
    common: o.Common,
) -> int:
    """Bring back what `mirrors use` changed, byte for byte; in a file edited since, its own keys alone."""
    from gpuenv.cli.commands.mirrors import use as command  # noqa: PLC0415

    return command.reset(o.configured_tools(tools), common, print_only=print_only, yes=yes)
