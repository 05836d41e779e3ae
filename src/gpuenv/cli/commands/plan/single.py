"""One plan, made and printed."""

from __future__ import annotations

import os
from pathlib import Path

from gpuenv.cli.console import Console
from gpuenv.cli.output import envelope, json_text
from gpuenv.files.write_output import refuse_foreign_file
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.i18n.messages import tr
from gpuenv.model.plan import Plan
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions
from gpuenv.untrusted.printable import printable

DEFAULT_TARGET = ".venv"
_FOR_IMAGES = ("dockerfile", "devcontainer")
_BY_HAND = ("pyproject", "pixi.toml", "dockerfile", "devcontainer")  # what people have of their own


def plan_once(options: PlanOptions, format_name: str, output: Path | None, console: Console) -> int:
    """Make one plan and print it."""
    keep_by_hand(output, format_name)
    with console.working(tr("reading indexes")):
        decided, text = decide_text(options, format_name, console)
    return print_plan(decided, text, output, console, is_prose=format_name == "text")


def keep_by_hand(output: Path | None, format_name: str) -> None:
    """Raise UsageError where the output would replace a file that a person wrote."""
    if output is not None and format_name in _BY_HAND:
        refuse_foreign_file(output)


def print_plan(decided: Plan, text: str, output: Path | None, console: Console, *, is_prose: bool) -> int:
    """Write one plan to a file or stdout."""
    data = render_plan_data(decided)
    return console.write_result("plan", data, text, output, decided.warnings, is_prose=is_prose)


def decide_text(
    options: PlanOptions, format_name: str, console: Console, decided: Plan | None = None
) -> tuple[Plan, str]:
    """Return the plan, unless it is `decided` already, and its text in a format."""
    if format_name in _FOR_IMAGES:
        from gpuenv.cli.commands.plan.files import decide_image  # noqa: PLC0415 - for images alone

        return decide_image(options, format_name)
    decided = decided or make_plan(options, os.environ, target=DEFAULT_TARGET)
    if format_name == "json":
        document = envelope("plan", render_plan_data(decided), warnings=decided.warnings)
        return decided, json_text(document)
    if format_name == "text":
        return decided, printable(render_text(decided, verbose=console.verbose))
    from gpuenv.cli.commands.plan.files import render_file  # noqa: PLC0415 - files of many tools are much

    if not options.fetch_hashes:
        return render_file(decided, format_name, options)
    from gpuenv.cli.progress import HashBars, display  # noqa: PLC0415 - where files are fetched

    with display(quiet=console.quiet) as shown:
        return render_file(decided, format_name, options, HashBars(shown))
