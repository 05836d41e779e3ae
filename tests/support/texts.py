"""All texts that a person may see, read out of the source and the matrices."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import typer.main

from gpuenv import matrices
from gpuenv.cli.app import app

SOURCE = Path(__file__).parents[2] / "src" / "gpuenv"
_CALLS = frozenset({"tr", "_tr", "marked"})
# the templates are in matrices, or handed over by who has marked them
_FROM_ELSEWHERE = frozenset(
    {"signatures/installer_faults.py", "doctor/diagnosis.py", "signatures/match.py", "i18n/messages.py"}
)
# fields of matrices' rows that are shown as they are
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "known-bad": ("effect", "remedy"),
    "nvidia-smi": ("repair",),
    "installer-faults": ("problem",),
}


@cache
def texts() -> frozenset[str]:
    """Every text: those of the program, of the help, and of the matrices."""
    return frozenset((*_in_program(), *_in_help(typer.main.get_command(app)), *_in_matrices()))


def unmarked() -> list[str]:
    """Calls of `tr` with something that is no literal, in modules that mark no templates."""
    found = []
    for path in SOURCE.rglob("*.py"):
        calls = list(_calls(path))
        marks = any(name in ("marked", "_tr") for name, _ in calls)
        loose = [call for name, call in calls if name == "tr" and not _literal(call)]
        if loose and not marks and str(path.relative_to(SOURCE)) not in _FROM_ELSEWHERE:
            found.append(f"{path.relative_to(SOURCE)}:{loose[0].lineno}")
    return found


def _in_program() -> Iterator[str]:
    for path in SOURCE.rglob("*.py"):
        yield from (text for _, call in _calls(path) if (text := _literal(call)))


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            yield node.func.id, node


def _literal(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def _in_help(command: Any) -> Iterator[str]:
    yield from (text for text in (command.help, command.epilog) if text)
    yield from (text for one in command.params if (text := getattr(one, "help", None)))
    for below in getattr(command, "commands", {}).values():
        yield from _in_help(below)


def _in_matrices() -> Iterator[str]:
    for table, fields in _SHOWN.items():
        for row in matrices.load(table):
            yield from (row[field] for field in fields if row.get(field))
    for row in matrices.load("mirrors"):
        yield from (row["title"], *(fault["text"] for fault in row["faults"]))
    for row in matrices.load("checks"):
        cases = (text for case in row["cases"].values() for name, text in case.items() if name != "command")
        yield from (text for text in (row["group"], row["title"], row["instead"], *cases) if text)


def fields_of(template: str) -> list[str]:
    """The names of the facts in a template, with their formats, sorted."""
    return sorted(f"{name}:{spec}" for _, name, spec, _ in Formatter().parse(template) if name is not None)
