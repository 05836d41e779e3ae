"""How answers reach the user: data on stdout, all else on stderr, one JSON envelope for all commands."""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import to_builtins

from gpuenv.cli.color import Style, is_coloured, with_label
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, GpuenvError, UsageError, VerificationFailed
from gpuenv.process import interruption
from gpuenv.untrusted.bounds import without_long_words
from gpuenv.untrusted.printable import printable

if TYPE_CHECKING:  # `detect` has no plan, and a machine is read sooner than what describes one
    from gpuenv.model.plan import PlanWarning

SCHEMA_VERSION = 1
_silent: ContextVar[bool] = ContextVar("silent", default=False)
_collected: ContextVar[list[dict[str, Any]] | None] = ContextVar("collected", default=None)


class UnwritableOutput(UsageError):  # noqa: N818 - as the errors of values.errors are named
    """stdout cannot be written to, so this error is not reported there."""


class NoCommand(UsageError):  # noqa: N818
    """No command was given: the help is printed."""

    def __init__(self, message: str, help_text: str, fix: Fix) -> None:
        super().__init__(message, code="usage", fixes=(fix,))
        self.help = help_text


class Interrupted(Exception):  # noqa: N818 - a signal, no error
    """Ctrl-C, or SIGTERM, while a command ran."""


def envelope(
    command: str,
    data: Any,
    *,
    warnings: tuple[PlanWarning, ...] = (),
    error: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the envelope of design section 2."""
    return {
        "schema_version": SCHEMA_VERSION,
        "command": command,
        "ok": error is None,
        "data": without_passwords(data),
        "warnings": [without_passwords(to_builtins(warning)) for warning in warnings],
        "error": error,
    }


def error_data(error: GpuenvError) -> dict[str, Any]:
    """Return the `error` of the envelope, without passwords; commands keep their URLs."""
    from gpuenv.secrets.url_credentials import without_userinfo  # noqa: PLC0415 - only where something went wrong

    return {
        "code": error.code,
        "message": _quoted(error.message),
        "because": [{"text": _quoted(one.text), "source": _quoted(one.source)} for one in error.because],
        "fixes": [
            {
                "text": _quoted(fix.text),
                "command": without_userinfo(fix.command) if fix.command else fix.command,
            }
            for fix in error.fixes
        ],
    }


def _quoted(text: str) -> str:
    """Return a text of an error as it is shown; secrets go first: half a login would not be recognised."""
    return without_long_words(without_passwords(text))


def without_passwords(value: Any) -> Any:
    """Hide what is secret in addresses, in a text or all through a JSON value."""
    from gpuenv.secrets.url_credentials import redact_credentials  # noqa: PLC0415 - `--version` needs none

    if isinstance(value, str):
        return redact_credentials(value)
    if isinstance(value, dict):
        return {name: without_passwords(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_passwords(item) for item in value]
    return value


def json_text(document: dict[str, Any]) -> str:
    """Return JSON as it is printed: ASCII, indented, without any control character."""
    return json.dumps(document, indent=2).replace("\x7f", "\\u007f") + "\n"


def print_json(document: dict[str, Any]) -> None:
    """Write the one document of a command to stdout; a signal that comes now does not change how it ended."""
    if document["ok"]:
        interruption.check()
    if (documents := _collected.get()) is not None:
        documents.append(document)
        return
    interruption.settle()
    _print(printable(json_text(document)))


@contextmanager
def collected() -> Iterator[list[dict[str, Any]]]:
    """Collect the documents of commands that run within, where `print_json` would print them."""
    documents: list[dict[str, Any]] = []
    token = _collected.set(documents)
    try:
        yield documents
    finally:
        _collected.reset(token)


def silence(*, silent: bool) -> None:
    """Let nothing but errors and JSON be printed from now on (`-qq`), or all."""
    _silent.set(silent)


def print_data(text: str) -> None:
    """Write the result to stdout; raise UsageError where that fails."""
    shown = _for_reader(printable(text), sys.stdout)
    if not _silent.get():
        _print(shown)


def _for_reader(text: str, stream: TextIO) -> str:
    """Return a text as a terminal takes it: lines that fit, links that it follows; as it is for all else."""
    if not stream.isatty() and "FORCE_HYPERLINK" not in os.environ:
        return text
    from gpuenv.cli.hyperlinks import follows_links, linked  # noqa: PLC0415 - scripts have no terminal
    from gpuenv.cli.text_width import columns_of, fitted  # noqa: PLC0415

    lines = fitted(text, columns_of(stream))
    return linked(lines) if follows_links(stream) else lines


def print_file(text: str, colour: Callable[[str], str] | None = None) -> None:
    """Write the content of a file to stdout: as it is, but on a terminal, where it may be coloured."""
    shown = printable(text) if sys.stdout.isatty() else text
    if colour is not None and is_coloured(sys.stdout):
        shown = colour(shown)
    if not _silent.get():
        _print(shown)


def _print(shown: str) -> None:
    try:
        _write(sys.stdout, shown if shown.endswith("\n") else shown + "\n")
    except OSError as error:
        raise unwritable(error) from None


def print_script(text: str) -> None:
    """Write what a shell evaluates to stdout, whose bytes are those of the paths in it."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(os.fsencode(text))
        sys.stdout.flush()
    except OSError as error:
        raise unwritable(error) from None


def unwritable(error: OSError) -> UnwritableOutput:
    """Return the error of a failed stdout; further output is discarded."""
    _discard_output(sys.stdout)
    message = tr("cannot write the output: {error}", error=reason_of(error))
    return UnwritableOutput(message, code="output-unwritable")


def note(text: str, style: Style | None = None) -> None:
    """Write a message to stderr, its label in a colour; ignore failures, which could not be reported.

    Secrets of addresses in it are hidden.
    """
    text = without_passwords(text) if "://" in text else text
    shown = _for_reader(printable(text), sys.stderr)
    if style and is_coloured(sys.stderr):
        shown = with_label(shown, style)
    try:
        _write(sys.stderr, shown + "\n")
    except OSError:
        _discard_output(sys.stderr)


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`): the command still completes.
        _discard_output(stream)


def _discard_output(stream: TextIO) -> None:
    """Discard further output, and what Python flushes at its exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)


def prepare_streams() -> None:
    """Make every text printable in any encoding, and closed streams writable."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed: `>&-`, pythonw
            devnull = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - to the end
            atexit.register(devnull.close)
            setattr(sys, name, devnull)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


class Declined(Exception):  # noqa: N818 - an answer, no error
    """The user declined."""


def check_terminal(data: dict[str, Any] | None = None) -> None:
    """Raise UsageError, with the data to be confirmed, where there is no terminal to prompt on."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            tr("cannot prompt: not running in a terminal"),
            code="no-terminal",
            fixes=(Fix(tr("add {option} to continue without confirmation", option="--yes")),),
            data=data,
        )


_YES = ("y", "yes", "是", "好")


def confirm(question: str, data: dict[str, Any] | None = None) -> None:
    """Prompt on the terminal; raise UsageError where there is none, Declined for a no."""
    check_terminal(data)
    sys.stderr.write(printable(tr("{question} [y/N] ", question=question)))
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in _YES:
        raise Declined


def bad_usage(problem: str, fix: str, command: str | None = None) -> UsageError:
    """Return the error of options or arguments that cannot be used so."""
    return UsageError(problem, code="usage", fixes=(Fix(fix, command),))


def with_outcome(error: VerificationFailed, outcome: str, data: dict[str, Any]) -> VerificationFailed:
    """Return the error of a verification with what became of the environment."""
    message = tr("{problem}; {outcome}", problem=error.message, outcome=outcome)
    return VerificationFailed(message, code=error.code, because=error.because, fixes=error.fixes, data=data)


def print_warnings(warnings: tuple[PlanWarning, ...]) -> None:
    """Write warnings to stderr, a line each."""
    for warning in warnings:
        note(tr("warning: {message}", message=warning.message), "warning")


def print_error(error: GpuenvError, *, verbose: bool = False) -> None:
    """Write an error as a person reads it: what, why, and what would help."""
    from gpuenv.formats.fact_source import said_source  # noqa: PLC0415 - only where something went wrong

    facts = error_data(error)
    note(tr("error: {message}", message=facts["message"]), "error")
    for reason in facts["because"]:
        note(f"  {reason['text']}" + (f" [{said_source(reason['source'])}]" if verbose else ""))
    for fix in facts["fixes"]:
        text, command = fix["text"], fix["command"]
        shown = tr("{fix}: `{command}`", fix=text, command=command) if command else text
        note(tr("hint: {fix}", fix=shown), "hint")
