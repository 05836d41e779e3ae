"""`gpuenv plan` for many saved machines: one environment for all, or the fewest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpuenv.cli.commands.plan.single import DEFAULT_TARGET, decide_text, keep_by_hand, plan_once, print_plan
from gpuenv.cli.console import Console
from gpuenv.cli.output import envelope, error_data, json_text, print_data, print_error, print_file, print_json
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.files.write_output import make_folder, write_file
from gpuenv.fleet.model import FleetPlan
from gpuenv.fleet.plan import in_words, may_be_parted, plan_fleet
from gpuenv.fleet.render.plan import COLUMNS, render_fleet_data, render_groups, table_rows
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, Unsatisfiable, UsageError
from gpuenv.model.plan import Plan
from gpuenv.planning.options import PlanOptions
from gpuenv.untrusted.printable import printable

# How a file of each format is named in the folder of its group.
_FILES = {
    "environment.yml": "environment.yml",
    "requirements.txt": "requirements.txt",
    "pylock.toml": "pylock.toml",
    "pyproject": "pyproject.toml",
    "pixi.toml": "pixi.toml",
    "dockerfile": "Dockerfile",
    "devcontainer": "devcontainer.json",
    "pip": "pip.txt",
    "uv": "uv.txt",
}


def plan_groups(options: PlanOptions, format_name: str, output: Path | None, console: Console) -> int:
    """Part the machines into the fewest groups and print their plans; return 3 if one is not supported."""
    if not may_be_parted(options, os.environ):
        return plan_once(options, format_name, output, console)
    with console.working(tr("reading indexes")):
        fleet = plan_fleet(options, os.environ, target=DEFAULT_TARGET)
    named = options.machine_folder is None
    if named and not fleet.groups:  # the refusal of one plan for all of them is more specific
        return plan_once(options, format_name, output, console)
    if named and len(fleet.groups) == 1 and not fleet.unserved:
        keep_by_hand(output, format_name)
        decided, text = _text_of(1, fleet, format_name, options, console)
        return print_plan(decided, text, output, console, is_prose=format_name == "text")
    return _print_groups(fleet, format_name, options, output, console)


def _print_groups(
    fleet: FleetPlan, format_name: str, options: PlanOptions, output: Path | None, console: Console
) -> int:
    facts: dict[str, Any] = {"count": len(fleet.unserved), "all": len(fleet.machines)}
    text = tr("{count} of {all} machines are not supported", **facts)
    error = Unsatisfiable(text, code="machines-not-served") if fleet.unserved else None
    reported = error_data(error) if error else None
    document = envelope("plan", render_fleet_data(fleet), warnings=fleet.warnings, error=reported)
    if format_name in ("text", "json"):
        width = terminal_width() if output is None else None
        groups = render_groups(fleet, verbose=console.verbose)
        table = printable(f"{render_table(table_rows(fleet), COLUMNS, width=width)}\n\n{groups}")
        text = table if format_name == "text" else json_text(document)
        written = _written(output, text)
    else:
        text, written = _in_format(fleet, format_name, options, output, console)
    if console.as_json:
        print_json(document)
    else:
        console.warn(fleet.warnings)
        if not written and text:
            (print_data if format_name == "text" else print_file)(text)
        for path in written:
            console.note(tr("wrote {file}", file=path))
        if error:
            print_error(error, verbose=console.verbose)
    return error.exit_code if error else 0


def _written(output: Path | None, text: str) -> tuple[Path, ...]:
    if output is None:
        return ()
    write_file(output, text)
    return (output,)


def _in_format(
    fleet: FleetPlan, format_name: str, options: PlanOptions, output: Path | None, console: Console
) -> tuple[str, tuple[Path, ...]]:
    """Return the text of the only group, or the files that were written, a folder for each group."""
    if len(fleet.groups) == 1 and not (output and output.is_dir()):
        keep_by_hand(output, format_name)
        _, text = _text_of(1, fleet, format_name, options, console)
        return text, _written(output, text)
    if output is None and fleet.groups:
        raise _several(fleet)
    texts: dict[Path, str] = {}
    for position in range(1, len(fleet.groups) + 1):
        path = (output or Path()) / f"group-{position}" / _FILES[format_name]
        keep_by_hand(path, format_name)
        _, texts[path] = _text_of(position, fleet, format_name, options, console)
    for path, text in texts.items():  # now that there is a text for each of them
        make_folder(path.parent)
        write_file(path, text)
    return "", tuple(texts)


def _text_of(
    position: int, fleet: FleetPlan, format_name: str, options: PlanOptions, console: Console
) -> tuple[Plan, str]:
    group = fleet.groups[position - 1]
    files = tuple(Path(fleet.machines[number].file) for number in group.numbers)
    options = replace(options, machines=files, machine_folder=None)
    with console.working(tr("reading indexes")):
        return decide_text(options, format_name, console, group.plan)


def _several(fleet: FleetPlan) -> UsageError:
    """Return the error that names the ways to a file for each group, or for one of them."""
    return UsageError(
        tr("the machines need {count} plans, but only one file was requested", count=len(fleet.groups)),
        code="several-groups",
        because=in_words(fleet),
        fixes=(
            Fix(tr("write a file for each group into a directory: -o DIR")),
            Fix(tr("or plan for one of the groups: name its machines with --machine FILE")),
        ),
    )
