"""Run one command: the only place where an error becomes text and an exit status."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuenv.cli import output
from gpuenv.cli.color import choose_color
from gpuenv.cli.language import ask_windows, choose_language, printable_language, speak, split_words
from gpuenv.cli.levels import levels_of
from gpuenv.cli.plain import plain_command
from gpuenv.files.temporary import fallback_tmpdir
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import ENGLISH, current_language, tr
from gpuenv.model.errors import Because, Fix, GpuenvError, ProofInterrupted, UsageError
from gpuenv.process import interruption
from gpuenv.tracing.drawing import draw
from gpuenv.tracing.steps import listen

DEFECT = 70
INTERRUPTED = 130
_GROUPS = ("matrix", "mirrors", "fleet", "cache", "self")  # commands that have commands
_PASSING_ON = ("run",)  # what follows the name belongs to the command that is run
_TOO_MANY_DIGITS = "integer string conversion"  # in CPython's words
_NAMES = (
    "ENOSPC", "EDQUOT", "EROFS", "EIO", "ESTALE", "EFBIG", "ENOLCK", "EACCES", "EPERM",
    "ENAMETOOLONG", "ELOOP", "EMFILE", "ENFILE",
)  # fmt: skip
_REFUSALS = frozenset(getattr(errno, name) for name in _NAMES if hasattr(errno, name))
_YES = ("1", "true", "t", "yes", "y", "on")


def run(arguments: list[str]) -> int:
    """Run gpuenv with `arguments`; return the exit status of design section 3."""
    output.prepare_streams()
    language = choose_language(arguments, os.environ, ask_windows)
    words = split_words(arguments)
    choose_color(words.color, os.environ)
    levels = levels_of(words.own, os.environ)
    output.silence(silent=levels.quiet > 1)
    listen(output.note if levels.verbose > 1 else None)
    draw(allowed=levels.draws)
    speak(printable_language(language, (sys.stdout.encoding, sys.stderr.encoding)))
    reporter = _Reporter.of(arguments, os.environ)
    try:  # a signal before this ends the process as any other: nothing has begun
        with interruption.heeded():
            return _run(arguments, reporter)
    except KeyboardInterrupt:  # a second one, while the first was reported
        return INTERRUPTED


def _run(arguments: list[str], reporter: _Reporter) -> int:
    try:
        fallback_tmpdir()
        status = run_command(arguments)
        return INTERRUPTED if interruption.came() and status == 0 else status
    except GpuenvError as error:
        interruption.settle()
        return reporter.report(explained(error))
    except output.Declined:
        interruption.settle()
        return reporter.declined()
    except (output.Interrupted, KeyboardInterrupt):
        interruption.settle()
        return reporter.interrupted()
    except Exception as error:  # noqa: BLE001 - a defect of gpuenv, reported in one line
        interruption.settle()
        problem = error_behind(error)
        return reporter.report(problem) if problem else reporter.defect(error)


def error_behind(error: Exception) -> GpuenvError | None:
    """Return the error of the user's machine or input behind an exception, None for a defect."""
    return beyond_limits(error) or disk_error(error)


def beyond_limits(error: Exception) -> UsageError | None:
    """Return the error for input beyond a parser's limits: most input is checked where it is read."""
    if isinstance(error, RecursionError):
        reason = tr("the input is nested too deeply")
    elif isinstance(error, MemoryError):
        reason = tr("not enough memory for the input")
    elif _TOO_MANY_DIGITS in str(error):
        reason = tr("the input has a number with too many digits")
    else:
        return None
    fix = Fix(tr("check the files and indexes that the command reads"))
    return UsageError(reason, code="input-too-large", fixes=(fix,))


def disk_error(error: Exception) -> UsageError | None:
    """Return the error for what a full, broken, closed or read-only disk refused; None for anything else."""
    if not isinstance(error, OSError):
        return None
    if error.errno in _REFUSALS:
        return _system_error(error)
    if error.errno == errno.ENOENT and error.filename is None and "temporary" in str(error):
        return no_temporary_folder(error)  # tempfile's own words
    return None


def _system_error(error: OSError) -> UsageError:
    from gpuenv.environments.os_errors import because_of, ways_out  # noqa: PLC0415 - rarely needed
    from gpuenv.on_disk.directories import is_full  # noqa: PLC0415 - rarely needed

    path, reason = error.filename if isinstance(error.filename, str) else None, reason_of(error)
    message = tr("`{path}`: {error}", path=path, error=reason) if path else reason
    if is_full(error):
        because = because_of(Path(path or "."), error)
        return UsageError(message, code="disk-full", because=because, fixes=ways_out())
    because = (Because(str(error), path or "-"),)
    fix = Fix(tr("check it: `ls -ld`, `df -h`, `mount`"))
    return UsageError(message, code="system-refused", because=because, fixes=(fix,))


def no_temporary_folder(error: OSError) -> UsageError:
    """Return the error of a system without a writable directory for temporary files."""
    return UsageError(
        tr("no directory for temporary files is writable"),
        code="no-temporary-folder",
        because=(Because(str(error), "TMPDIR"),),
        fixes=(Fix(tr("free disk space in /tmp, or set TMPDIR to a writable directory")),),
    )


def run_command(arguments: list[str]) -> int:
    """Run a command; return its exit status, or raise what ended it."""
    _check_directory()
    plain = plain_command(arguments, os.environ)
    return _run_app(arguments) if plain is None else plain()


def _run_app(arguments: list[str]) -> int:
    import typer.main  # noqa: PLC0415 - takes as long as some commands

    from gpuenv.cli.app import app  # noqa: PLC0415
    from gpuenv.cli.usage import usage_error  # noqa: PLC0415

    command = typer.main.get_command(app)
    if current_language() != ENGLISH:
        from gpuenv.cli.help_text import translate_help  # noqa: PLC0415 - English is as typer writes it

        translate_help(command)
    try:
        status = command(args=arguments, prog_name="gpuenv", standalone_mode=False)
    except typer.Abort:
        raise output.Interrupted from None
    except typer.TyperException as error:
        raise usage_error(error) from None
    except OSError as error:
        if not {"--help", "-h"} & set(arguments):
            raise
        raise output.unwritable(error) from None  # typer's own printing
    except SystemExit:  # so typer leaves where the reader of a help text has gone
        return 0
    return status if isinstance(status, int) else 0


def explained(error: GpuenvError) -> GpuenvError:
    """Return what other programs failed with, and what that means."""
    from gpuenv.explanation.installer_failure import with_cause  # noqa: PLC0415 - only where something failed

    try:
        return with_cause(error)
    except (GpuenvError, MemoryError, RecursionError, OSError):  # then the failure itself has to do
        return error


def _check_directory() -> None:
    try:
        os.getcwd()  # noqa: PTH109 - whether it can be read is the question
    except OSError as error:
        raise UsageError(
            tr("the current directory cannot be read: {error}", error=reason_of(error)),
            code="no-directory",
            fixes=(Fix(tr("change to an existing one"), "cd"),),
        ) from None


class _Reporter(Struct, frozen=True):
    """Reports how a command ended, as text or JSON."""

    command: str
    as_json: bool
    verbose: bool

    @classmethod
    def of(cls, arguments: list[str], environ: Mapping[str, str]) -> _Reporter:
        """Read the form of the output from the bare arguments, which may not be parseable."""
        words = split_words(arguments)
        positional = words.positional
        command = " ".join(positional[: 2 if positional[:1] and positional[0] in _GROUPS else 1])
        return cls(
            command,
            as_json="--json" in (words.own if command in _PASSING_ON else arguments)
            or (command != "run" and environ.get("GPUENV_JSON", "").strip().lower() in _YES),
            verbose=levels_of(words.own, environ).verbose > 0,
        )

    def report(self, error: GpuenvError) -> int:
        if self.as_json and not isinstance(error, output.UnwritableOutput):
            data = output.without_passwords(error.data)
            return self._print_json(error.exit_code, data, output.error_data(error))
        if isinstance(error, output.NoCommand):
            output.note(error.help)
        elif isinstance(error, ProofInterrupted):  # it was the user who did it
            output.note(error.message)
        else:
            output.print_error(error, verbose=self.verbose)
        return error.exit_code

    def interrupted(self) -> int:
        return self._say(INTERRUPTED, "interrupted", tr("interrupted; partial files were removed"))

    def declined(self) -> int:
        return self._say(INTERRUPTED, "declined", tr("nothing was changed"))

    def defect(self, error: Exception) -> int:
        location = _save_report(error)
        text = tr(
            "internal error, please report it ({kind}: {error}); a report was saved to {place}",
            kind=type(error).__name__,
            error=output.without_passwords(str(error).splitlines()[0] if str(error) else ""),
            place=location,
        )
        return self._say(DEFECT, "defect", text)

    def _say(self, status: int, code: str, message: str) -> int:
        if self.as_json:
            return self._print_json(
                status, None, {"code": code, "message": message, "because": [], "fixes": []}
            )
        output.note(message)
        return status

    def _print_json(self, status: int, data: Any, error: dict[str, Any]) -> int:
        try:
            output.print_json(output.envelope(self.command, data, error=error))
        except UsageError as unwritable:  # a full disk behind stdout: stderr may still work
            output.print_error(unwritable)
        return status


def _save_report(error: Exception) -> str:
    """Save what a maintainer needs; it may name a lab's machines, so the file stays with the user."""
    import tempfile  # noqa: PLC0415 - for a defect alone
    import traceback  # noqa: PLC0415

    from gpuenv import __version__  # noqa: PLC0415

    document = {
        "gpuenv": __version__,
        "python": sys.version,
        "platform": sys.platform,
        "arguments": output.without_passwords(sys.argv[1:]),
        "traceback": output.without_passwords(traceback.format_exception(error)),
    }
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="gpuenv-defect-", suffix=".json", delete=False, encoding="utf-8"
        ) as file:
            json.dump(document, file, indent=2)
            return file.name
    except OSError:
        output.note("".join(document["traceback"]))
        return "stderr"
