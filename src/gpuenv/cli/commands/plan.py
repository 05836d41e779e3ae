"""`gpuenv plan`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from gpuenv.cli.options import Common, PlanArguments
from gpuenv.cli.output import envelope, json_text, note, print_data, print_json, print_warnings, working
from gpuenv.core.render.formats import FORMATS
from gpuenv.core.render.json import render_plan_data
from gpuenv.core.render.text import render_text
from gpuenv.values.plan import Plan
from gpuenv.values.text import tr
from gpuenv.workflow.options import PlanOptions
from gpuenv.workflow.plan import make_plan
from gpuenv.workflow.write import write_file

DEFAULT_TARGET = ".venv"


def options_of(wanted: PlanArguments, program: tuple[str, ...]) -> PlanOptions:
    """Return the plan options as the workflow takes them."""
    return PlanOptions(
        requirements=tuple(wanted.requirements or ()),
        requirement_files=tuple(wanted.requirement_files or ()),
        python=wanted.python,
        cuda=wanted.cuda,
        machines=tuple(wanted.machines or ()),
        driver=wanted.driver,
        gpus=tuple(wanted.gpus or ()),
        platform=wanted.platform.value if wanted.platform else None,
        glibc=wanted.glibc,
        devices=tuple(wanted.devices or ()),
        manager=wanted.manager.value,
        mirrors=tuple(wanted.mirrors or ()),
        find_links=tuple(wanted.find_links or ()),
        offline=wanted.offline,
        program=program,
    )


def plan(wanted: PlanArguments, format_name: str, output: Path | None, common: Common) -> int:
    """Decide, print the plan in the format asked for."""
    options = options_of(wanted, ("gpuenv", "plan"))
    if format_name in ("pip", "uv"):
        options = replace(options, manager=format_name)
    with working(tr("reading indexes"), quiet=common.quiet):
        decided = make_plan(options, os.environ, target=DEFAULT_TARGET)
    text = _render(decided, format_name, common)
    if output is not None:
        write_file(output, text)
    if common.as_json:
        print_json(_envelope(decided))
        return 0
    if not common.quiet:
        print_warnings(decided.warnings)
    if output is None:
        print_data(text)
    elif not common.quiet:
        note(tr("wrote {file}", file=output))
    return 0


def _render(decided: Plan, format_name: str, common: Common) -> str:
    if format_name == "json":
        return json_text(_envelope(decided))
    if format_name == "text":
        return render_text(decided, verbose=common.verbose)
    return FORMATS[format_name](decided)


def _envelope(decided: Plan) -> dict[str, object]:
    return envelope("plan", render_plan_data(decided), warnings=decided.warnings)
