"""Typer's errors of command lines, as gpuenv reports them."""

from __future__ import annotations

from typing import Any

import typer

from gpuenv.cli.output import NoCommand
from gpuenv.i18n.messages import N_, tr, translate_output
from gpuenv.model.errors import Fix, UsageError

# typer's messages, once they begin in lower case and end without a period
_TYPERS = (
    N_("no such option: {option} (Possible options: {options})"),
    N_("no such option: {option}"),
    N_("no such command {command}. Did you mean {commands}?"),
    N_("no such command {command}"),
    N_("missing argument {name}"),
    N_("invalid value for {name} (env var: {variable}): {problem}"),
    N_("invalid value for {name}: {problem}"),
    N_("got unexpected extra argument(s) ({arguments})"),
    N_("option {option} requires an argument"),
    N_("option {option} does not take a value"),
    N_("{value} is not one of {allowed}"),
    N_("{value} is not a valid int"),
    N_("{value} is not a valid float"),
    N_("{value} is not a valid boolean. Recognized values: {allowed}"),
    N_("Path {path} is not readable"),
)


def usage_error(error: typer.TyperException) -> UsageError:
    """Return typer's error as one of gpuenv's, in the language of the texts."""
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "gpuenv"
    fix = Fix(tr("see the help"), f"{path} --help")
    # typer keeps its click, and with it this class, to itself; options alone make it another error
    if type(error).__name__ == "NoArgsIsHelpError" or str(error) == "Missing command.":
        text = context.get_help() if context is not None else str(error)
        return NoCommand(tr("no command was given"), text, fix)
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    lowered = message[:1].lower() + message[1:].rstrip(".")
    return UsageError(translate_output(lowered, _TYPERS), code="usage", fixes=(fix,))
