"""All texts that a person may see, from the source and the matrices, each with what its id begins with."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import typer.main

from gpuenv import matrices
from gpuenv.cli.app import app

SOURCE = Path(__file__).parents[1] / "src" / "gpuenv"
_CALLS = frozenset({"tr", "_tr", "N_", "ngettext"})
# the templates are in matrices, or handed over by who has marked them
_FROM_ELSEWHERE = frozenset(
    {
        "signatures/installer_faults.py", "checks/diagnosis.py", "signatures/match.py", "i18n/messages.py",
        "environments/store.py",  # from `on_disk`; `fleet.node_messages` marks them
    }
)  # fmt: skip
# what names a row of a matrix, and its fields that are shown as they are
_SHOWN: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "known-bad": (("id",), ("effect", "remedy")),
    "nvidia-smi": (("kind", "code"), ("repair",)),
    "installer-faults": (("tool", "fault"), ("problem",)),
}


@cache
def texts() -> Mapping[str, str]:
    """Every text: those of the program, of the help, and of the matrices; with what its id begins with.

    That is the package or command for a text that stands in one only, `help`, or for matrices all of the id.
    """
    origins: dict[str, set[str]] = {}
    for text, origin in (*_in_program(), *_in_help(typer.main.get_command(app)), *_in_matrices()):
        origins.setdefault(text, set()).add(origin)
    return {
        text: min(values) if len(values) == 1 or _in_rows(values) else "" for text, values in origins.items()
    }


def _in_rows(origins: Iterable[str]) -> bool:
    return all(origin.startswith("matrix-") for origin in origins)


def unmarked() -> list[str]:
    """Calls of `tr` with something that is no literal, in modules that mark no templates."""
    values = []
    for path in SOURCE.rglob("*.py"):
        calls = _calls(path)
        marks = any(name in ("N_", "_tr") for name, _ in calls)
        loose = [call for name, call in calls if name == "tr" and not _literals(call)]
        if loose and not marks and str(path.relative_to(SOURCE)) not in _FROM_ELSEWHERE:
            values.append(f"{path.relative_to(SOURCE)}:{loose[0].lineno}")
    return values


def _in_program() -> Iterator[tuple[str, str]]:
    for path in SOURCE.rglob("*.py"):
        folders = [part for part in path.relative_to(SOURCE).with_suffix("").parts if part != "commands"]
        origin = folders[1] if folders[0] == "cli" and len(folders) > 1 else folders[0]
        yield from ((text, origin.replace("_", "-")) for _, call in _calls(path) for text in _literals(call))


@cache
def _calls(path: Path) -> tuple[tuple[str, ast.Call], ...]:
    return tuple(
        (node.func.id, node)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS
    )


def _literals(call: ast.Call) -> list[str]:
    return [
        item.value for item in call.args if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]


def _in_help(command: Any) -> Iterator[tuple[str, str]]:
    yield from ((text, "help") for text in (command.help, command.short_help, command.epilog) if text)
    yield from ((text, "help") for param in command.params if (text := getattr(param, "help", None)))
    for below in getattr(command, "commands", {}).values():
        yield from _in_help(below)


def _in_matrices() -> Iterator[tuple[str, str]]:
    for table, (keys, fields) in _SHOWN.items():
        for row in matrices.load(table):
            origin = "-".join(("matrix", table, *(row[key] or "any" for key in keys)))
            yield from ((row[field], f"{origin}-{field}") for field in fields if row.get(field))
    for row in matrices.load("mirrors"):
        yield row["title"], f"matrix-mirrors-{row['name']}-title"
        yield from (
            (fault["text"], f"matrix-mirrors-{row['name']}-{fault['code'] or 'fault'}")
            for fault in row["faults"]
        )
    for row in matrices.load("checks"):
        origin = f"matrix-checks-{row['id']}"
        yield row["group"], f"matrix-checks-{row['group']}"
        yield from ((row[field], f"{origin}-{field}") for field in ("title", "instead") if row[field])
        for case, said in row["cases"].items():
            shown = (item for item in said.items() if item[0] != "command" and item[1])
            yield from ((text, f"{origin}-{case}-{field}") for field, text in shown)


def fields_of(template: str) -> list[str]:
    """The names of the facts in a template, with their formats, sorted."""
    return sorted(f"{name}:{spec}" for _, name, spec, _ in Formatter().parse(template) if name is not None)
