"""How answers reach the user: data on stdout, everything else on stderr, one JSON envelope for all commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from gpuenv.values.errors import Fix, GpuenvError, UsageError
from gpuenv.values.plan import Warn
from gpuenv.values.text import tr

SCHEMA_VERSION = 1


def envelope(
    command: str,
    data: Any,
    *,
    warnings: tuple[Warn, ...] = (),
    error: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the envelope of design section 2."""
    return {
        "schema_version": SCHEMA_VERSION,
        "command": command,
        "ok": error is None,
        "data": data,
        "warnings": [asdict(warning) for warning in warnings],
        "error": error,
    }


def error_data(error: GpuenvError) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "because": [asdict(reason) for reason in error.because],
        "fixes": [asdict(fix) for fix in error.fixes],
    }


def json_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


def print_json(document: dict[str, Any]) -> None:
    print_data(json_text(document))


def print_data(text: str) -> None:
    """Write what was asked for to stdout."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Write a message to stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


@contextmanager
def working(message: str, *, quiet: bool) -> Iterator[None]:
    """Show on a terminal that something goes on, for as long as it does."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only where it draws

    with Console(stderr=True).status(message):
        yield


def confirm(question: str, *, assume: str) -> None:
    """Ask on the terminal; raise UsageError where there is none, KeyboardInterrupt on a no."""
    if not sys.stdin.isatty():
        raise UsageError(
            tr("there is no terminal to ask on"),
            code="no-terminal",
            fixes=(Fix(tr("give {option} to go on without a question", option=assume)),),
        )
    sys.stderr.write(tr("{question} [y/N] ", question=question))
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise KeyboardInterrupt


def print_warnings(warnings: tuple[Warn, ...]) -> None:
    for warning in warnings:
        note(tr("warning: {message}", message=warning.message))


def print_error(error: GpuenvError, *, verbose: bool = False) -> None:
    """Write an error as a person reads it: what, why, and what would help."""
    note(tr("error: {message}", message=error.message))
    for reason in error.because:
        note(f"  {reason.text}" + (f" [{reason.source}]" if verbose else ""))
    for fix in error.fixes:
        command = f": `{fix.command}`" if fix.command else ""
        note(tr("hint: {fix}", fix=f"{fix.text}{command}"))
