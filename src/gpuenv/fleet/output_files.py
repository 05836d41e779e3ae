"""What a fleet's command leaves: the machines in a folder, the report as a page."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path

from gpuenv import __version__
from gpuenv.files.write_output import make_folder, write_file
from gpuenv.fleet.names import file_names
from gpuenv.fleet.render.report import render_report
from gpuenv.fleet.run_model import FleetRun
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError
from gpuenv.model.machine_json import render_machine


def save_machines(run: FleetRun, folder: Path) -> tuple[Path, ...]:
    """Write each machine as `gpuenv detect --json` prints it, for `gpuenv plan --machines`.

    A host without an answer keeps the file of an earlier time. Raises UsageError where that can't be written.
    """
    make_folder(folder)
    names = file_names(tuple(host_outcome.host for host_outcome in run.hosts))
    written = []
    for outcome in run.hosts:
        if outcome.machine is not None:
            document = {
                "schema_version": 1,
                "command": "detect",
                "ok": True,
                "data": render_machine(outcome.machine),
                "warnings": [],
                "error": None,
            }
            path = folder / names[outcome.host]
            write_file(path, json.dumps(document, indent=2) + "\n")
            written.append(path)
    return tuple(written)


def check_report(path: Path) -> None:
    """Raise UsageError where a report could not be written, before hours of work are reported in it."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(tr("{path} is not a valid location for a file", path=path), code="unwritable")


def write_report(run: FleetRun, path: Path) -> None:
    """Write the report as one HTML page; raise UsageError where it can't be written."""
    style = files("gpuenv.fleet.render").joinpath("fleet_report.css")
    try:
        text = style.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            tr("{path} cannot be read: {reason}", path=style, reason=reason_of(error)), code="unreadable"
        ) from None
    now = datetime.now(tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    write_file(path, render_report(run, style=text, made_by=f"gpuenv {__version__}", made_on=now))
