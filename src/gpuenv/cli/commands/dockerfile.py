"""`gpuenv dockerfile`, and `plan --format dockerfile`."""

from __future__ import annotations

import os
from pathlib import Path

from gpuenv.cli.commands.plan.options import PlanArguments
from gpuenv.cli.commands.plan.plan import options_of
from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_file, print_json, print_warnings, working
from gpuenv.files.write_output import keep_foreign, write_file
from gpuenv.formats.json import render_plan_data
from gpuenv.i18n.messages import tr
from gpuenv.images.recipe import plan_image, write_ignore_file


def dockerfile(wanted: PlanArguments, base: str, output: Path | None, common: Common) -> int:
    """Decide, and print the Dockerfile of an image with what was decided; `-` as the output is stdout."""
    output = None if str(output) == "-" else output
    if output is not None:
        keep_foreign(output)
    with working(tr("reading indexes"), quiet=common.quiet):
        decided, text = plan_image(options_of(wanted, ("gpuenv", "dockerfile")), base, os.environ)
    written = _write(output, text) if output else ()
    if common.as_json:
        data = {**render_plan_data(decided), "dockerfile": text}
        print_json(envelope("dockerfile", data, warnings=decided.warnings))
        return 0
    if not common.quiet:
        print_warnings(decided.warnings)
        for path in written:
            note(tr("wrote {file}", file=path))
    if output is None:
        print_file(text)
    return 0


def _write(output: Path, text: str) -> tuple[Path, ...]:
    write_file(output, text)
    ignored = write_ignore_file(output)
    return (output, ignored) if ignored else (output,)
