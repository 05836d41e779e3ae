"""What holds for the source as a whole: class names that are unique, and no imports in a circle."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gpuenv

ROOT = Path(gpuenv.__file__).parent


@cache
def trees() -> dict[str, ast.Module]:
    """Return the source of each module by its name."""
    return {
        ".".join(("gpuenv", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): ast.parse(path.read_text(encoding="utf-8"))
        for path in ROOT.rglob("*.py")
    }


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
