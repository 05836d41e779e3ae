"""`gpuenv bootstrap`."""

from __future__ import annotations

import os
from pathlib import Path

from gpuenv.cli.commands.plan import options_of
from gpuenv.cli.options import BootstrapArguments, Common, PlanArguments
from gpuenv.cli.output import envelope, note, print_file, print_json, print_warnings, working
from gpuenv.values.text import tr
from gpuenv.workflow.bootstrap import BootstrapOptions, make_bootstrap
from gpuenv.workflow.lab import read_lab
from gpuenv.workflow.write import write_file

_MAY_RUN = 0o111


def bootstrap(
    wanted: PlanArguments,
    asked: BootstrapArguments,
    lab: Path | None,
    output: Path | None,
    common: Common,
) -> int:
    """Print the script, or write it so that it can be run; `-` as the output is stdout."""
    output = None if str(output) == "-" else output
    options = options_of(wanted, ("gpuenv", "bootstrap"))
    chosen = BootstrapOptions(asked.name, asked.pin, asked.version, asked.launcher, asked.verify)
    with working(tr("reading indexes"), quiet=common.quiet):
        script = make_bootstrap(options, chosen, read_lab(lab) if lab else None, os.environ)
    if output is not None:
        write_file(output, script.text)
        if output.is_file():
            output.chmod(output.stat().st_mode | _MAY_RUN)
    if common.as_json:
        data = {"script": script.text, "environments": list(script.names)}
        print_json(envelope("bootstrap", data, warnings=script.warnings))
        return 0
    if not common.quiet:
        print_warnings(script.warnings)
    if output is None:
        print_file(script.text)
    elif not common.quiet:
        note(tr("wrote {file}", file=output))
    return 0
