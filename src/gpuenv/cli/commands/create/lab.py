"""`gpuenv create --from lab.toml`."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from gpuenv.bootstrap.lab import Lab, lock_of, read_lab, with_lab
from gpuenv.cli.commands.create.create import create_from_options, is_resumed
from gpuenv.cli.commands.plan.options import CreateArguments, PlanArguments
from gpuenv.cli.commands.plan.plan import options_of
from gpuenv.cli.console import Console
from gpuenv.cli.output import bad_usage, note
from gpuenv.environments.listing import find_environment
from gpuenv.i18n.messages import series, tr
from gpuenv.planning.options import PlanOptions


def create_lab(
    path: Path, name: str | None, wanted: PlanArguments, chosen: CreateArguments, console: Console
) -> int:
    """Make one environment of a lab's file, or all that are not there (or not verified) yet, one by one."""
    if chosen.from_lock is not None:
        problem = tr("--from and --from-lock are mutually exclusive: both define what to install")
        raise bad_usage(problem, tr("omit one of the two"))
    lab = read_lab(path)
    os.environ.update(lab.variables({}))
    if name is not None:
        options, verified = _options_of(lab, name, wanted, chosen)
        return create_from_options(name, options, verified, console)
    if console.as_json:
        names = series(f"`{entry}`" for entry in lab.names)
        problem = tr("--json works with a single environment of {file}", file=path)
        raise bad_usage(problem, tr("name one of {names}", names=names))
    for item in lab.names:
        options, verified = _options_of(lab, item, wanted, chosen)
        if chosen.force or find_environment(item, os.environ) is None or is_resumed(item, options, verified):
            create_from_options(item, options, verified, console)
        else:
            note(tr("`{name}` already exists", name=item))
    return 0


def _options_of(
    lab: Lab, name: str, wanted: PlanArguments, chosen: CreateArguments
) -> tuple[PlanOptions, CreateArguments]:
    """Return what the file and the command line ask of an environment."""
    lab_options = lab.options_of(name)
    typed, folder = options_of(wanted, ("gpuenv", "create", name)), lab.path.parent
    options, lock = with_lab(typed, lab_options, folder), lock_of(typed, lab_options, folder)
    if lock is not None:
        from gpuenv.locks.plan_from_lock import for_lock  # noqa: PLC0415 - only where there is a lock

        options = for_lock(options, lock)
    return options, replace(chosen, verify=chosen.verify and lab_options.verify is not False)
