"""`gpuenv plan` as files that make environments on other machines: a playbook, a script for sbatch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_error, print_file
from gpuenv.files.write_output import make_folder, refuse_foreign_file, write_file
from gpuenv.fleet.model import FleetPlan
from gpuenv.fleet.node_groups import NodeGroups, groups_for_nodes, playbook_files, slurm_script
from gpuenv.fleet.render.plan import render_fleet_data
from gpuenv.formats.json import render_plan_data
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, Unsatisfiable, UsageError
from gpuenv.planning.options import PlanOptions

_NAME = "torch"


def plan_for_nodes(options: PlanOptions, format_name: str, output: Path | None, console: Console) -> int:
    """Write a playbook, its module and its locks into a folder, or a script for Slurm.

    Returns 3 where a machine is not supported.
    """
    if format_name == "ansible" and (output is None or output.is_file()):
        raise UsageError(
            tr("--format ansible writes several files"),
            code="no-folder",
            fixes=(Fix(tr("give a directory for them: -o DIR")),),
        )
    with console.working(tr("reading indexes")):
        groups = groups_for_nodes(options, os.environ, _NAME)
    error = unserved(groups.fleet) if groups.fleet and groups.fleet.unserved else None
    texts = _texts(groups, format_name, output) if groups.groups else {}
    written = _write(texts)
    if console.as_json:
        fleet = groups.fleet
        data = render_fleet_data(fleet) if fleet else render_plan_data(groups.groups[0].plan)
        return console.print_json("plan", data, groups.warnings, error)
    console.warn(groups.warnings)
    for path in written:
        console.note(tr("wrote {file}", file=path))
    if None in texts:
        print_file(texts[None])
    if error:
        print_error(error, verbose=console.verbose)
    return error.exit_code if error else 0


def unserved(fleet: FleetPlan) -> Unsatisfiable:
    """Return the error of machines that no plan is for, with each one's reason."""
    facts = {"count": len(fleet.unserved), "all": len(fleet.machines)}
    return Unsatisfiable(
        tr("{count} of {all} machines are not supported", **facts),
        code="machines-not-served",
        because=tuple(
            Because(f"{machine.name}: {machine.problem}", machine.file) for machine in fleet.unserved
        ),
    )


def _texts(groups: NodeGroups, format_name: str, output: Path | None) -> Mapping[Path | None, str]:
    """Return the texts by file; None is stdout."""
    if format_name == "ansible":
        return {(output or Path()) / path: text for path, text in playbook_files(groups, _NAME).items()}
    return {output: slurm_script(groups, _NAME)}


def _write(texts: Mapping[Path | None, str]) -> tuple[Path, ...]:
    files = {path: text for path, text in texts.items() if path is not None}
    for path in files:
        if path.suffix != ".json":  # which gpuenv alone writes
            refuse_foreign_file(path)
    for path, text in files.items():
        make_folder(path.parent)
        write_file(path, text)
    return tuple(files)
