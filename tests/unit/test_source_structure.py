"""What keeps the code readable: sizes, documentation, unique names of classes, no imports in a circle."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
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
def trees() -> dict[str, ast.Module]:
    """Return the source of each module by its name."""
    return {
        ".".join(("gpuenv", *Path(name).with_suffix("").parts)).removesuffix(".__init__"): ast.parse(text)
        for name, text in FILES.items()
    }


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
    nodes = chain.from_iterable(map(ast.walk, trees().values()))
    lengths = [length(node) for node in nodes if isinstance(node, FUNCTIONS)]
    assert median(lengths) <= 6
    assert quantiles(lengths, n=10)[-1] <= 20


def test_what_others_use_is_documented() -> None:
    documented = [bool(ast.get_docstring(item)) for tree in trees().values() for item in public(tree)]
    assert sum(documented) / len(documented) >= 0.95


def test_each_public_class_has_a_name_of_its_own() -> None:
    modules = defaultdict(list)
    for module, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(module)
    assert {name: owners for name, owners in modules.items() if len(owners) > 1} == {}


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Return all nodes but those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _nodes(child)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in _nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in trees() else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_module_is_imported_by_what_it_imports() -> None:
    modules = trees()
    imports = {
        module: {name for name in _imported(tree) if name in modules} for module, tree in modules.items()
    }
    while leaves := {module for module, names in imports.items() if not names & imports.keys() - {module}}:
        imports = {module: names for module, names in imports.items() if module not in leaves}
    assert sorted(imports) == []
