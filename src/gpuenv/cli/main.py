"""Run one command: the only place where an error becomes text and an exit status."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import traceback
from types import FrameType
from typing import Any

import typer

from gpuenv.cli import output
from gpuenv.values.errors import Fix, GpuenvError, UsageError
from gpuenv.values.text import tr

DEFECT = 70
INTERRUPTED = 130


def run(arguments: list[str]) -> int:
    """Run gpuenv with `arguments`; return the exit status of design section 3."""
    from gpuenv.cli.app import app  # noqa: PLC0415 - after the fast path of --version

    _prepare_streams()
    signal.signal(signal.SIGTERM, _terminated)
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    command = next((word for word in words if not word.startswith("-")), "")
    reporter = _Reporter(command, as_json="--json" in words, verbose=bool({"-v", "--verbose"} & set(words)))
    try:
        status = app(args=arguments, prog_name="gpuenv", standalone_mode=False)
    except GpuenvError as error:
        return reporter.report(error)
    except typer.Abort:
        return reporter.interrupted()
    except KeyboardInterrupt:
        return reporter.interrupted()
    except typer.TyperException as error:
        return reporter.report(_usage_error(error, command))
    except BrokenPipeError:
        # the reader has gone: keep the interpreter from complaining about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - a defect of gpuenv, told in one line
        return reporter.defect(error)
    return status if isinstance(status, int) else 0


def _prepare_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _terminated(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _usage_error(error: typer.TyperException, command: str) -> UsageError:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    lowered = message[:1].lower() + message[1:].rstrip(".")
    return UsageError(lowered, code="usage", fixes=(Fix(tr("see the help"), f"gpuenv {command} --help".replace("  ", " ")),))


class _Reporter:
    """Says how a command ended, in the form that was asked for."""

    def __init__(self, command: str, *, as_json: bool, verbose: bool) -> None:
        self._command = command
        self._as_json = as_json
        self._verbose = verbose

    def report(self, error: GpuenvError) -> int:
        if self._as_json:
            output.print_json(output.envelope(self._command, error.data, error=output.error_data(error)))
        else:
            output.print_error(error, verbose=self._verbose)
        return error.exit_code

    def interrupted(self) -> int:
        self._say("interrupted", tr("interrupted; nothing half-made is left"))
        return INTERRUPTED

    def defect(self, error: Exception) -> int:
        place = _save_report(error)
        text = tr(
            "this is a defect of gpuenv ({kind}: {error}); a report was saved to {place}",
            kind=type(error).__name__,
            error=str(error).splitlines()[0] if str(error) else "",
            place=place,
        )
        self._say("defect", text)
        return DEFECT

    def _say(self, code: str, message: str) -> None:
        if self._as_json:
            error: dict[str, Any] = {"code": code, "message": message, "because": [], "fixes": []}
            output.print_json(output.envelope(self._command, None, error=error))
        else:
            output.note(message)


def _save_report(error: Exception) -> str:
    """Save what a maintainer needs; the arguments may name a lab's machines, so the file stays with the user."""
    from gpuenv import __version__  # noqa: PLC0415

    document = {
        "gpuenv": __version__,
        "python": sys.version,
        "platform": sys.platform,
        "arguments": sys.argv[1:],
        "traceback": traceback.format_exception(error),
    }
    try:
        with tempfile.NamedTemporaryFile("w", prefix="gpuenv-defect-", suffix=".json", delete=False, encoding="utf-8") as file:
            json.dump(document, file, indent=2)
            return file.name
    except OSError:
        output.note("".join(traceback.format_exception(error)))
        return "stderr"
