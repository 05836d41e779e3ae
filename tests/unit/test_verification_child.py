"""The child script must run where gpuenv can't: in old Pythons, without anything installed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import gpuenv.verification

SOURCE = Path(gpuenv.verification.__file__).with_name("child.py").read_text(encoding="utf-8")


def test_its_syntax_is_that_of_python_3_6() -> None:
    ast.parse(SOURCE, feature_version=(3, 6))


def test_it_imports_the_standard_library_only() -> None:
    nodes = list(ast.walk(ast.parse(SOURCE)))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {module.partition(".")[0] for module in modules} <= sys.stdlib_module_names
    assert "__future__" not in modules  # annotations can't be postponed before 3.7
