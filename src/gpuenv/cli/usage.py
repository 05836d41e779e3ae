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

# options of pip, uv and conda, and what people guess, as gpuenv has them; a word in capitals is an argument
_OF_OTHERS = {
    "--cpu": "--cuda cpu",
    "--no-cuda": "--cuda cpu",
    "--no-gpu": "--cuda cpu",
    "--torch-backend": "--cuda VARIANT",
    "--cuda-version": "--cuda VARIANT",
    "--index-url": "--mirror URL",
    "--extra-index-url": "--mirror URL",
    "--index": "--mirror URL",
    "--default-index": "--mirror URL",
    "-i": "--mirror URL",
    "-c": "--channel conda-forge",
    "--py": "--python VERSION",
    "--no-index": "--offline",
    "-n": "NAME",
    "--name": "NAME",
    "--prefix": "NAME",
}


def usage_error(error: typer.TyperException) -> UsageError:
    """Return typer's error as one of gpuenv's, in the language of the texts."""
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "gpuenv"
    fix = Fix(tr("see the help"), f"{path} --help")
    # typer keeps its click, and with it this class, to itself; options alone make it another error
    if type(error).__name__ == "NoArgsIsHelpError" or str(error) == "Missing command.":
        text = context.get_help() if context is not None else str(error)
        return NoCommand(tr("no command was given"), text, fix)
    option = getattr(error, "option_name", "") if type(error).__name__ == "NoSuchOption" else ""
    if words := _own_words(option, context):
        message = tr("no such option: {option}", option=option)
        own = f"{path} {words}" if words.isupper() else words
        return UsageError(message, code="usage", fixes=(Fix(tr("write it as `{words}`", words=own)), fix))
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    lowered = message[:1].lower() + message[1:].rstrip(".")
    return UsageError(translate_output(lowered, _TYPERS), code="usage", fixes=(fix,))


def _own_words(option: str, context: Any) -> str:
    """Return how the command that was called has an option of another program; empty where it has none."""
    words = _OF_OTHERS.get(option, "")
    own = words.partition(" ")[0]
    known = getattr(getattr(context, "command", None), "params", ())
    names = {name for parameter in known for name in (*parameter.opts, parameter.metavar or "")}
    return words if own in names else ""
