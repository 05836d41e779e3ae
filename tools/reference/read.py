"""Read what the program says of its commands: as its own help has it, in the language that it speaks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer
import typer.main
from msgspec import Struct

from gpuenv.cli import language as languages
from gpuenv.cli import main
from gpuenv.cli.app import app
from gpuenv.cli.help_text import translate_help
from gpuenv.i18n.messages import gettext
from gpuenv.model.errors import GpuenvError

# `Only print.  [env var: GPUENV_PRINT; default: auto]`
_NOTED = re.compile(r"(?P<help>.*?) *\[(?P<notes>(?:env var|default|required).*)\]", re.DOTALL)
_CHOICES = re.compile(r"(?P<names>.+?) <(?P<choices>[^>]+)>")
_COMMON = frozenset({"as_json", "quietness", "verbosity", "lang", "color", "help", "no_progress"})


class Option(Struct, frozen=True):
    """An option or an argument; `variable` and `default` are empty where there is none."""

    names: str
    text: str
    choices: tuple[str, ...] = ()
    variable: str = ""
    default: str = ""


class Command(Struct, frozen=True):
    """A command with its words (`gpuenv mirrors use`), and how it is called."""

    words: str
    usage: str
    paragraphs: tuple[str, ...]
    arguments: tuple[Option, ...]
    options: tuple[Option, ...]

    @property
    def summary(self) -> str:
        """What stands beside it in a list of commands."""
        return self.paragraphs[0].rstrip(".。")


class Reference(Struct, frozen=True):
    """All commands, the options that nearly all of them have, and the exit codes."""

    language: str
    description: tuple[str, ...]
    root: tuple[Option, ...]
    common: tuple[Option, ...]
    commands: tuple[Command, ...]
    exit_codes: tuple[int, ...]


def read_reference(language: str) -> Reference:
    """Read the program's commands in a language: `en`, `zh`."""
    languages.speak(language)
    try:
        root = typer.main.get_command(app)
        translate_help(root)
        context = typer.Context(root, info_name="gpuenv", **root.context_settings)
        own = tuple(_options(root, context, "option"))
        commands = tuple(_commands(root, context))
        return Reference(
            language, _paragraphs(root), own, _common(root, context), commands, tuple(sorted(_exit_codes()))
        )
    finally:
        languages.speak("en")


def _commands(group: Any, context: Any) -> Iterator[Command]:
    for name in group.list_commands(context):
        command = group.commands[name]
        below = typer.Context(command, info_name=name, parent=context)
        if hasattr(command, "commands"):
            yield from _commands(command, below)
            continue
        usage = " ".join((below.command_path, *command.collect_usage_pieces(below)))
        yield Command(
            below.command_path,
            usage,
            _paragraphs(command),
            tuple(_options(command, below, "argument")),
            tuple(_options(command, below, "option")),
        )


def _paragraphs(command: Any) -> tuple[str, ...]:
    return tuple(" ".join(text.split()) for text in (command.help or "").split("\n\n"))


def _options(command: Any, context: Any, kind: str, *, common: bool = False) -> Iterator[Option]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and parameter.param_type_name == kind and (parameter.name in _COMMON) is common:
            yield _option(*record)


def _common(root: Any, context: Any) -> tuple[Option, ...]:
    """Return the options at the help's end; each says the same in every command that has it."""
    counted: Counter[Option] = Counter()
    for name in root.list_commands(context):
        command = root.commands[name]
        for one in [*getattr(command, "commands", {}).values()] or [command]:
            below = typer.Context(one, info_name=name, parent=context)
            counted.update(_options(one, below, "option", common=True))
    if len({option.names for option in counted}) != len(counted):
        raise ValueError(f"an option of all commands is not the same in all: {sorted(map(str, counted))}")
    return tuple(option for option in counted)


def _option(names: str, text: str) -> Option:
    noted = _NOTED.fullmatch(text)
    notes = dict(_note(note) for note in noted["notes"].split("; ")) if noted else {}
    chosen = _CHOICES.fullmatch(names)
    return Option(
        chosen["names"] if chosen else names,
        gettext(" ".join((noted["help"] if noted else text).split())),
        tuple(chosen["choices"].split("|")) if chosen else (),
        notes.get("env var", ""),
        notes.get("default", ""),
    )


def _note(note: str) -> tuple[str, str]:
    name, _, value = note.partition(": ")
    return name, value


def _exit_codes() -> set[int]:
    kinds, codes = [GpuenvError], {0, main.DEFECT, main.INTERRUPTED}
    while kinds:
        kind = kinds.pop()
        codes.add(kind.exit_code)
        kinds += kind.__subclasses__()
    return codes
