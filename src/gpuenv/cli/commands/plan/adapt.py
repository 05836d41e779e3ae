"""`gpuenv plan --adapt`: dependency files, as a patch with which they work here."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from msgspec.structs import replace

from gpuenv.adapt.adapt import AdaptOptions, adapt
from gpuenv.adapt.model import Adaptation
from gpuenv.adapt.render import (
    patch_of,
    render_adaptation_data,
    render_changes,
    render_sources,
)
from gpuenv.adapt.write import write_files
from gpuenv.cli.color import Style, coloured
from gpuenv.cli.commands.plan.options import AdaptArguments, PlanArguments
from gpuenv.cli.commands.plan.plan import options_of
from gpuenv.cli.commands.plan.single import DEFAULT_TARGET
from gpuenv.cli.console import Console
from gpuenv.cli.output import bad_usage, envelope, json_text, print_data, print_file, print_json
from gpuenv.files.write_output import write_file
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.i18n.messages import N_, tr
from gpuenv.planning.options import PlanOptions

_FORMATS = ("text", "json")


def plan_adapted(
    wanted: PlanArguments, arguments: AdaptArguments, format_name: str, output: Path | None, console: Console
) -> int:
    """Plan, print the plan and the changes, and write the patch or the files."""
    if format_name not in _FORMATS:
        raise bad_usage(
            tr("--adapt requires --format text or json"),
            tr("write the changes with --write, then plan the changed files in that format"),
        )
    adapting, options = to_adapt(wanted, arguments, ("gpuenv", "plan"))
    adapting = replace(adapting, patch_alone=True)
    with console.working(tr("reading project files and indexes")) as update:

        def tell(count: int) -> None:
            update(tr("resolving the other packages, run {count}", count=count))

        adaptation = adapt(adapting, options, os.environ, target=DEFAULT_TARGET, tell=tell)
    data = {**render_plan_data(adaptation.plan), "adapted": render_adaptation_data(adaptation)}
    document = envelope("plan", data, warnings=adaptation.plan.warnings)
    if output is not None:
        write_file(output, json_text(document) if format_name == "json" else patch_of(adaptation))
    if console.as_json or (format_name == "json" and output is None):
        print_json(document)
    else:
        show_adaptation(adaptation, console, with_patch=output is None and not arguments.write)
    if output is not None:
        console.note(tr("wrote {file}", file=output))
    if arguments.write:
        write_adapted(adaptation, console)
    elif adaptation.changes and console.is_chatty:
        fix = _how_to_apply(wanted, output, changes_files=bool(patch_of(adaptation)))
        console.note(tr("hint: {fix}", fix=fix), "hint")
    return 0


def to_adapt(
    wanted: PlanArguments, arguments: AdaptArguments, program: tuple[str, ...]
) -> tuple[AdaptOptions, PlanOptions]:
    """Return what is to be adapted, and the options of the plan without it; raise UsageError."""
    if wanted.machine_folder is not None:
        raise bad_usage(
            tr("--adapt plans for one kind of environment and cannot be used with --machines"),
            tr("name its machines with --machine FILE"),
        )
    paths = (*map(_path, wanted.requirements or ()), *_named_files(wanted))
    rest = replace(wanted, requirements=None, requirement_files=None, environment_file=None)
    options = options_of(rest, (*program, "--adapt", *map(str, paths)))
    return AdaptOptions(paths or (Path(),), arguments.exclude_newer, source=arguments.source), options


def _named_files(wanted: PlanArguments) -> tuple[Path, ...]:
    return tuple(filter(None, (*(wanted.requirement_files or ()), wanted.environment_file)))


def _path(word: str) -> Path:
    try:
        exists = Path(word).exists()
    except (OSError, ValueError):  # too long a name, a null byte
        exists = False
    if not exists:
        raise bad_usage(
            tr("`{word}` is not an existing file or directory", word=word),
            tr("--adapt requires the project: give a file or a directory; its requirements are used"),
        )
    return Path(word)


def show_adaptation(adaptation: Adaptation, console: Console, *, with_patch: bool) -> None:
    """Print the plan, each change with its reason and risks, and the patch."""
    console.warn(adaptation.plan.warnings)
    if not console.quiet:
        print_data(render_text(adaptation.plan, verbose=console.verbose))
        if table := render_sources(adaptation.project):
            print_data(table)
        print_data(render_changes(adaptation, verbose=console.verbose))
    patch = patch_of(adaptation)
    if with_patch and patch:
        print_file(patch, _coloured)


def _coloured(patch: str) -> str:
    signs: dict[str, Style] = {"+": "added", "-": "removed"}
    lines = (coloured(line, sign) if (sign := signs.get(line[:1])) else line for line in patch.split("\n"))
    return "\n".join(lines)


def write_adapted(adaptation: Adaptation, console: Console) -> None:
    """Change the files in place, and print how to undo it."""
    for written in write_files(adaptation.project, adaptation.files):
        undo = shlex.join(("mv", written.kept, written.path))
        text = N_("wrote {file}; `{command}` restores its previous content")
        console.note(tr(text, file=written.path, command=undo))


def _how_to_apply(wanted: PlanArguments, output: Path | None, *, changes_files: bool) -> str:
    if not changes_files:
        return tr("create it with `{command}`", command=_create(wanted))
    if output is not None:
        return tr("apply it with `{command}`", command=shlex.join(("git", "apply", str(output))))
    return tr(
        "--write changes the files, -o FILE saves the patch, `{command}` creates the environment",
        command=_create(wanted),
    )


def _create(wanted: PlanArguments) -> str:
    paths = (*(wanted.requirements or ()), *map(str, _named_files(wanted)))
    return shlex.join(("gpuenv", "create", "NAME", "--adapt", *(paths or ["."])))
