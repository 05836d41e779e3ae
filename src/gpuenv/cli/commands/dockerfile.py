"""`gpuenv dockerfile`, and `plan --format dockerfile`."""

from __future__ import annotations

import os
from pathlib import Path

from gpuenv.cli.commands.plan.options import PlanArguments
from gpuenv.cli.commands.plan.plan import options_of
from gpuenv.cli.console import Console
from gpuenv.files.write_output import make_folder, refuse_foreign_file
from gpuenv.formats.json import render_plan_data
from gpuenv.i18n.messages import tr
from gpuenv.images.recipe import plan_image, write_ignore_file


def dockerfile(wanted: PlanArguments, base: str, output: Path | None, console: Console) -> int:
    """Plan, and write the Dockerfile of an image with that plan to a file or stdout."""
    if output is not None:
        refuse_foreign_file(output)
        make_folder(output.parent)
    with console.working(tr("reading indexes")):
        decided, text = plan_image(options_of(wanted, ("gpuenv", "dockerfile")), base, os.environ)
    data = {**render_plan_data(decided), "dockerfile": text}
    status = console.write_result("dockerfile", data, text, output, decided.warnings)
    ignored = write_ignore_file(output) if output else None
    if ignored and not console.as_json:
        console.note(tr("wrote {file}", file=ignored))
    return status
