"""Where `create --force` would replace what gpuenv did not create."""

from __future__ import annotations

import os
import sys

from msgspec.structs import replace

from gpuenv.cli.commands.plan.options import CreateArguments
from gpuenv.cli.console import Console
from gpuenv.cli.output import confirm, note
from gpuenv.environments.conda.foreign import is_foreign, what_is_in
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.create import check_name


def check_place(
    name: str, chosen: CreateArguments, console: Console, manager: str
) -> tuple[EnvironmentPaths, CreateArguments]:
    """Return where the environment would go, and the options after a yes; raise UsageError, Declined.

    What gpuenv did not create is shown, and replaced after a yes of its own or with --replace-foreign only.
    """
    force, foreign = chosen.force, chosen.replace_foreign
    try:
        environment = check_name(name, environ=os.environ, force=force, manager=manager, foreign=foreign)
    except UsageError as error:
        if error.code != "foreign-environment" or not _may_ask(chosen, console):
            raise
        _show(error.message, tuple(reason.text for reason in error.because))
        confirm(tr("replace it? an export of it is kept"))
        chosen = replace(chosen, replace_foreign=True)
        environment = check_name(name, environ=os.environ, force=True, manager=manager, foreign=True)
        return environment, chosen
    if chosen.force and is_foreign(environment.path) and not console.quiet:
        _show(
            tr("the conda environment {path} was not created by gpuenv", path=environment.path),
            what_is_in(environment.path),
        )
    return environment, chosen


def _may_ask(chosen: CreateArguments, console: Console) -> bool:
    asks = not (chosen.yes or chosen.dry_run or console.as_json)
    return asks and sys.stdin is not None and sys.stdin.isatty()


def _show(message: str, lines: tuple[str, ...]) -> None:
    note("\n".join((message, *(f"  {line}" for line in lines))))
