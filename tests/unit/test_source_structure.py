"""The sizes that keep the code readable: of files, folders and functions, and what is documented."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import median, quantiles

SOURCE = Path(__file__).parents[2] / "src" / "gpuenv"
LINES = 300
MODULES = 20
LONGER = {"verification/child.py"}  # one file, as it is handed to other Pythons
FILES = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def trees() -> tuple[ast.Module, ...]:
    return tuple(map(ast.parse, FILES.values()))


def public(tree: ast.Module) -> Iterator[Function | ast.ClassDef]:
    """Return the functions and classes that other modules may use, and the methods of those classes."""
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else []
        for item in (node, *inside):
            if isinstance(item, (*FUNCTIONS, ast.ClassDef)) and not item.name.startswith("_"):
                yield item


def test_files_are_short() -> None:
    assert {name for name, text in FILES.items() if text.count("\n") >= LINES} <= LONGER


def test_folders_have_few_modules() -> None:
    counts = Counter(name.rpartition("/")[0] for name in FILES if not name.endswith("__init__.py"))
    assert {folder for folder, count in counts.items() if count > MODULES} == set()


def length(function: Function) -> int:
    """Return how many lines a function has without its docstring."""
    text = ast.get_docstring(function, clean=False)
    return (function.end_lineno or 0) - function.lineno + 1 - (text.count("\n") + 1 if text else 0)


def test_functions_are_short() -> None:
    nodes = chain.from_iterable(map(ast.walk, trees()))
    lengths = [length(node) for node in nodes if isinstance(node, FUNCTIONS)]
    assert median(lengths) <= 6
    assert quantiles(lengths, n=10)[-1] <= 20


def test_what_others_use_is_documented() -> None:
    documented = [bool(ast.get_docstring(item)) for tree in trees() for item in public(tree)]
    assert sum(documented) / len(documented) >= 0.95
