"""`gpuenv export`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from gpuenv.changes.open_environment import ChangeOptions, Opened, open_environment
from gpuenv.cli.choices import FormatName, ManagerName
from gpuenv.cli.commands.plan.options import PlanArguments
from gpuenv.cli.console import Console
from gpuenv.cli.output import envelope, json_text
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.i18n.messages import tr
from gpuenv.inspection.export import default_format, export_environment
from gpuenv.model.plan import Plan
from gpuenv.planning.options import PlanOptions

_PLANNED = ("dockerfile", "devcontainer", "bootstrap", "ansible", "slurm")


def export(
    name: str,
    format_name: FormatName | None,
    output: Path | None,
    options: ChangeOptions,
    console: Console,
) -> int:
    """Print or write what is installed; images and scripts are planned with exactly that."""
    opened = open_environment(name, os.environ)
    chosen = format_name or default_format(opened)
    with console.working(tr("reading indexes")):
        exported = export_environment(opened, chosen, options, os.environ)
        if chosen in _PLANNED:
            wanted = _wanted(opened, exported.requirements, options)
        else:
            plan, text = _rendered(exported.plan, chosen, opened, options, console)
    if chosen in _PLANNED:
        return _plan(wanted, chosen, output, console)
    if output is not None:
        from gpuenv.cli.commands.plan.single import keep_by_hand  # noqa: PLC0415 - only where a file is written

        keep_by_hand(output, chosen)
    return console.write_result("export", render_plan_data(plan), text, output, plan.warnings)


def _rendered(
    plan: Plan, chosen: str, opened: Opened, options: ChangeOptions, console: Console
) -> tuple[Plan, str]:
    if chosen == "json":
        return plan, json_text(envelope("export", render_plan_data(plan), warnings=plan.warnings))
    if chosen == "text":
        others = (f"  {package.name} {package.version}\n" for package in plan.packages[len(plan.pins) :])
        return plan, render_text(plan, verbose=console.verbose) + "".join(others)
    from gpuenv.cli.commands.plan.files import render_file  # noqa: PLC0415 - files of many tools are much

    plan_options = PlanOptions(
        mirrors=options.mirrors or opened.original.mirrors,
        offline=options.offline,
        devices=opened.original.devices,
        program=("gpuenv", "export", opened.paths.name),
    )
    return render_file(plan, chosen, plan_options)


def _wanted(opened: Opened, requirements: tuple[str, ...], options: ChangeOptions) -> PlanArguments:
    return PlanArguments(
        requirements=list(requirements),
        python=opened.minor,
        cuda=opened.variant or "auto",
        devices=list(opened.original.devices) or None,
        manager="auto" if opened.is_condas else cast("ManagerName", opened.record.manager),
        mirrors=list(options.mirrors or opened.original.mirrors) or None,
        find_links=[*options.find_links, *opened.original.find_links] or None,
        offline=options.offline,
    )


def _plan(wanted: PlanArguments, chosen: str, output: Path | None, console: Console) -> int:
    if chosen == "bootstrap":
        from gpuenv.cli.commands.bootstrap import bootstrap  # noqa: PLC0415
        from gpuenv.cli.commands.plan.options import BootstrapArguments  # noqa: PLC0415

        return bootstrap(wanted, BootstrapArguments(pin=True), None, output, console)
    from gpuenv.cli.commands.plan.plan import plan  # noqa: PLC0415

    return plan(wanted, chosen, output, console)
