"""A command's help in another language than English: typer's words translated, Chinese lines broken."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer._click import HelpFormatter  # typer keeps its click to itself; 0.28 alone is allowed

from gpuenv.cli.text_width import wrapped
from gpuenv.i18n.messages import N_, gettext, tr, translate_output

# `Only print.  [env var: GPUENV_PRINT; default: auto]`
_NOTED = re.compile(r"(?P<help>.*?)(?P<gap> *)\[(?P<notes>(?:env var|default|required).*)\]", re.DOTALL)
_NOTES = (N_("env var: {name}"), N_("default: {value}"), N_("required"))
_TYPERS_OWN = (
    N_("Arguments"),
    N_("Options"),
    N_("Commands"),
    N_("Show this message and exit."),
)


class Formatter(HelpFormatter):
    """Writes what typer's does, in the language of the texts."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line that shows how a command is called."""
        super().write_usage(prog, args, tr("Usage: ") if prefix is None else prefix)

    def write_heading(self, heading: str) -> None:
        """Write the line above a section."""
        self.write(tr("{heading}:", heading=gettext(heading)) + "\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs, which empty lines part."""
        indent = " " * self.current_indent
        paragraphs = (" ".join(item.split()) for item in text.split("\n\n"))
        filled = (
            "".join(f"{indent}{line}\n" for line in self._filled(paragraph)) for paragraph in paragraphs
        )
        self.write("\n".join(filled))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write names, each with its text beside it; a long name has a line of its own."""
        indent = " " * self.current_indent
        longest = min(max(len(name) for name, _ in rows), col_max)
        margin = " " * (longest + col_spacing)
        for name, text in rows:
            first, *more = list(wrapped(_translated_row(text), self.width - len(margin) - 2)) or [""]
            beside = name + margin[len(name) :] if len(name) <= longest else f"{name}\n{indent}{margin}"
            self.write(f"{indent}{beside}{first}".rstrip() + "\n")
            self.write("".join(f"{indent}{margin}{line}\n" for line in more))

    def _filled(self, text: str) -> Iterator[str]:
        return wrapped(text, self.width - self.current_indent)


class Context(typer.Context):
    """A command's context whose help is written by `Formatter`."""

    formatter_class = Formatter


def translate_help(command: Any) -> None:
    """Put a command's help and that of its options into the language."""
    command.context_class = Context
    for field in ("help", "epilog"):
        if getattr(command, field, None):
            setattr(command, field, gettext(inspect.cleandoc(getattr(command, field))))
    # else typer would cut it where it finds no space
    command.short_help = gettext(command.short_help or (command.help or "").partition("\n\n")[0])
    for parameter in getattr(command, "params", ()):
        if getattr(parameter, "help", None):
            parameter.help = gettext(parameter.help)
        if parameter.name == "install_completion":
            parameter.callback = _install_completion


def _install_completion(_context: Any, _parameter: Any, wanted: object) -> object:
    """Do what typer's own callback does, with translated text."""
    if wanted:
        from typer._completion_shared import install  # noqa: PLC0415 - only on request

        shell, file = install()
        typer.echo(
            tr("completion for {shell} was written to {file}: new terminals have it", shell=shell, file=file)
        )
        raise typer.Exit
    return wanted


def _translated_row(text: str) -> str:
    match = _NOTED.fullmatch(text)
    if not match:
        return gettext(text)
    notes = tr("; ").join(translate_output(note, _NOTES) for note in match["notes"].split("; "))
    return f"{match['help']}{match['gap']}[{notes}]"
