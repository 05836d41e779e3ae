"""`gpuenv plan`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gpuenv.cli.commands.plan.options import PlanArguments
from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, json_text, note, print_file, print_json, print_warnings, working
from gpuenv.files.write_output import keep_foreign, write_file
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.i18n.messages import tr
from gpuenv.installers import MANAGERS
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.plan import Plan
from gpuenv.planning.conda.choose import choose_conda_manager
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions
from gpuenv.untrusted.printable import printable

DEFAULT_TARGET = ".venv"
_SHOWN = ("text", "json")
_FOR_UV = ("pyproject",)
_FOR_NODES = ("ansible", "slurm")
_FOR_IMAGES = ("dockerfile", "devcontainer")
_BY_HAND = ("pyproject", "pixi.toml", "dockerfile", "devcontainer")  # what people have of their own
_FOR_CONDA = ("environment.yml", "pixi.toml")


def options_of(wanted: PlanArguments, program: tuple[str, ...]) -> PlanOptions:
    """Return the plan options as the workflow takes them."""
    return PlanOptions(
        requirements=tuple(wanted.requirements or ()),
        requirement_files=tuple(wanted.requirement_files or ()),
        environment_file=wanted.environment_file,
        python=wanted.python,
        cuda=wanted.cuda,
        machines=tuple(wanted.machines or ()),
        machine_folder=wanted.machine_folder,
        driver=wanted.driver,
        gpus=tuple(wanted.gpus or _gpus_of(os.environ)),
        platform=wanted.platform.value if wanted.platform else None,
        glibc=wanted.glibc,
        devices=tuple(wanted.devices or ()),
        manager=wanted.manager.value,
        channel=wanted.channel.value,
        mirrors=_given(wanted.mirrors),
        find_links=_given(wanted.find_links),
        offline=wanted.offline,
        fetch_hashes=wanted.fetch_hashes,
        only_binary=wanted.only_binary,
        program=program,
    )


def _gpus_of(environ: Mapping[str, str]) -> list[str]:
    """Read GPUENV_GPU, which typer would split at the blanks of `RTX 4090`."""
    return [name.strip() for name in environ.get("GPUENV_GPU", "").split(",") if name.strip()]


def _given(places: list[str] | None) -> tuple[str, ...]:
    return tuple(location for location in places or () if location.strip())


def plan(wanted: PlanArguments, format_name: str, output: Path | None, common: Common) -> int:
    """Decide, print the plan in the format asked for; `-` as the output is stdout."""
    options = _for_format(format_name, options_of(wanted, ("gpuenv", "plan")))
    output = None if str(output) == "-" else output
    if format_name in _FOR_NODES:
        from gpuenv.cli.commands.plan.nodes import plan_for_nodes  # noqa: PLC0415 - for other machines alone

        return plan_for_nodes(options, format_name, output, common)
    if options.machine_folder is not None or len(options.machines) > 1:
        from gpuenv.cli.commands.plan.groups import plan_groups  # noqa: PLC0415 - for many machines alone

        return plan_groups(options, format_name, output, common)
    return plan_once(options, format_name, output, common)


def plan_once(options: PlanOptions, format_name: str, output: Path | None, common: Common) -> int:
    """Make one plan and print it."""
    keep_by_hand(output, format_name)
    with working(tr("reading indexes"), quiet=common.quiet):
        decided, text = decide_text(options, format_name, common)
    return print_plan(decided, text, output, common)


def keep_by_hand(output: Path | None, format_name: str) -> None:
    """Raise UsageError where the output would take the place of a file that people write by hand."""
    if output is not None and format_name in _BY_HAND:
        keep_foreign(output)


def print_plan(decided: Plan, text: str, output: Path | None, common: Common) -> int:
    """Hand over the text of one plan."""
    if output is not None:
        write_file(output, text)
    if common.as_json:
        print_json(_envelope(decided))
        return 0
    if not common.quiet:
        print_warnings(decided.warnings)
    if output is None:
        print_file(text)
    elif not common.quiet:
        note(tr("wrote {file}", file=output))
    return 0


def decide_text(
    options: PlanOptions, format_name: str, common: Common, decided: Plan | None = None
) -> tuple[Plan, str]:
    """Return the plan, unless it is `decided` already, and its text in a format."""
    if format_name in _FOR_IMAGES:
        from gpuenv.cli.commands.plan.files import decide_image  # noqa: PLC0415 - for images alone

        return decide_image(options, format_name)
    decided = decided or make_plan(options, os.environ, target=DEFAULT_TARGET)
    if format_name == "json":
        return decided, json_text(_envelope(decided))
    if format_name == "text":
        return decided, printable(render_text(decided, verbose=common.verbose))
    from gpuenv.cli.commands.plan.files import render_file  # noqa: PLC0415 - files of many tools are much

    if not options.fetch_hashes:
        return render_file(decided, format_name, options)
    from gpuenv.cli.progress import Hashing, display  # noqa: PLC0415 - where files are fetched

    with display(quiet=common.quiet) as shown:
        return render_file(decided, format_name, options, Hashing(shown))


def _for_format(format_name: str, options: PlanOptions) -> PlanOptions:
    """Return the options with the manager whose commands the format is made of."""
    if format_name in _SHOWN:
        options = replace(options, only_shown=True)
    if format_name == "text":
        return options
    options = replace(options, program=(*options.program, "--format", format_name))
    if format_name in _FOR_CONDA:
        return replace(options, manager=choose_conda_manager(options, os.environ, format_name))
    if format_name in _FOR_UV and options.manager == "auto":
        return replace(options, manager="uv")
    if format_name not in MANAGERS:
        return options
    if options.manager not in ("auto", format_name):
        raise UsageError(
            tr("--format {format} goes with --manager {format} only", format=format_name),
            code="usage",
            fixes=(Fix(tr("omit one of the two")),),
        )
    return replace(options, manager=format_name)


def _envelope(decided: Plan) -> dict[str, object]:
    return envelope("plan", render_plan_data(decided), warnings=decided.warnings)
