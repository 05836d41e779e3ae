"""Change one thing in a decision or a roll-back, and see whether a test fails: `nox -s mutation`.

`python tools/mutation.py --sample 60` takes so many of the changes that can be made, the same ones for the
same `--seed`; `--only resolve` those of files whose path has that in it. Each is made in a copy and tried
with the tests that belong to the file, in a process of its own that ends at a limit; without a change they
must pass. What no test sees is listed, with the line as it was and as it became; the exit status is 1 where
less than `--aim` percent of the changes are seen.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CPU_S = 120
_DECISIONS = ("test_order_of_preference", "test_scenarios", "test_decision")
# files of src/gpuenv, and the tests that belong to them, those that end soonest first
TARGETS: dict[str, tuple[str, ...]] = {
    "resolution/rules/availability.py": ("test_rule_reach", *_DECISIONS),
    "resolution/rules/bundled_libraries.py": ("test_rule_library", *_DECISIONS),
    "resolution/rules/companion.py": ("test_rule_companion", *_DECISIONS),
    "resolution/rules/driver.py": ("test_rule_driver", *_DECISIONS),
    "resolution/rules/gpu_code.py": ("test_rule_kernels", *_DECISIONS),
    "resolution/rules/known_bad.py": ("test_rule_known_bad", "test_known_bad_entries", *_DECISIONS),
    "resolution/rules/platform_tags.py": ("test_rule_platform", *_DECISIONS),
    "resolution/rules/python.py": ("test_rule_python", *_DECISIONS),
    "resolution/rules/requested.py": ("test_rule_request", *_DECISIONS),
    "resolution/rules/torch_bound.py": ("test_bound_tags", "test_bound"),
    "resolution/decision.py": (*_DECISIONS, "test_bound"),
    "resolution/resolve.py": (*_DECISIONS, "test_bound"),
    "resolution/report/refusal.py": ("test_reasons", *_DECISIONS, "test_bound"),
    "environments/transaction.py": ("test_environments_journal", "boundary/test_create"),
    "on_disk/journal.py": ("test_environments_journal", "boundary/test_create"),
}
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip
_RENAMED = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    """A file with one thing changed."""

    file: str
    line: int
    before: str
    after: str
    source: str


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Yield the file with each change that can be made in it."""
    tree = ast.parse(source)
    count = sum(1 for node in _nodes(tree) for _ in _changes(node))
    for wanted in range(count):
        changed = copy.deepcopy(tree)
        parents = {child: node for node in ast.walk(changed) for child in ast.iter_child_nodes(node)}
        node, change = [(node, change) for node in _nodes(changed) for change in _changes(node)][wanted]
        line = next(number for number in _lines_up(node, parents))
        shown = _statement(node, parents)
        before = ast.unparse(shown)
        change()
        after, text = ast.unparse(shown), ast.unparse(changed)
        if text != ast.unparse(tree):
            yield Mutant(file, line, before, after, text)


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes outside decorators of classes: nobody sees whether a value is frozen."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    skipped = {node for item in classes for decorator in item.decorator_list for node in ast.walk(decorator)}
    return (node for node in ast.walk(tree) if node not in skipped)


def _lines_up(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[int]:
    while not hasattr(node, "lineno"):
        node = parents[node]
    yield node.lineno


def _statement(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """Return the smallest thing around a node that can be read by itself."""
    while not isinstance(node, ast.expr | ast.stmt) or isinstance(node, ast.Constant | ast.Name):
        node = parents[node]
    return node


def _changes(node: ast.AST) -> Iterator[Change]:
    """Yield what can be changed at a node."""
    yield from _of_operator(node)
    yield from _of_value(node)
    if isinstance(node, ast.If | ast.IfExp):
        yield Change(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield Change(node, "ifs", [])
    elif isinstance(node, ast.FunctionDef):
        for at, statement in enumerate(node.body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                yield Change(node.body, at, ast.Pass())


def _of_operator(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            yield Change(node.ops, at, _SWAPPED[type(operator)]())
    elif isinstance(node, ast.BoolOp) or (isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED):
        yield Change(node, "op", _SWAPPED[type(node.op)]())
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _RENAMED:
        yield Change(node.func, "id", _RENAMED[node.func.id])


def _of_value(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield Change(node, "value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield Change(node, "value", node.value + 1)
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield Change(node, "value", ast.Constant(None))


@dataclass(frozen=True)
class Change:
    """Another value for a field of a node, or for an item of a list of them."""

    holder: Any
    field: str | int
    value: object

    def __call__(self) -> None:
        """Make it."""
        if isinstance(self.field, int):
            self.holder[self.field] = self.value
        else:
            setattr(self.holder, self.field, self.value)


def is_seen(mutant: Mutant, scratch: Path) -> bool:
    """Whether a test fails, or does not end, with the change; `scratch` holds a copy of all that it takes."""
    path = scratch / "src" / "gpuenv" / mutant.file
    kept = path.read_text(encoding="utf-8")
    path.write_text(mutant.source, encoding="utf-8")
    try:
        return any(not _passes(name, scratch) for name in TARGETS[mutant.file])
    finally:
        path.write_text(kept, encoding="utf-8")


def _passes(name: str, scratch: Path) -> bool:
    """Run a file of tests in a child, which has loaded pytest but nothing of gpuenv."""
    child = os.fork()
    if child == 0:
        _run(name if "/" in name else f"unit/{name}", scratch)
    return os.waitpid(child, 0)[1] == 0


def _run(name: str, scratch: Path) -> None:
    import pytest  # noqa: PLC0415 - the first child's cost is small, and `--list` needs none

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    os.environ |= {"PYTHONPATH": str(scratch / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, str(scratch / "src"))
    sys.dont_write_bytecode = True
    os.chdir(scratch)
    os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", f"tests/{name}.py"])))


def _copied(scratch: Path) -> Path:
    for name in ("src", "tests", "tools", "matrices"):
        shutil.copytree(ROOT / name, scratch / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", scratch)
    return scratch


def main(arguments: list[str] | None = None) -> int:
    """Try the mutants; return the exit status."""
    parser = argparse.ArgumentParser(description="change one thing at a time, and see whether a test fails")
    parser.add_argument("--only", default="", help="the files whose path has this in it")
    parser.add_argument("--sample", type=int, help="how many of the changes (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--aim", type=float, default=95, metavar="PERCENT")
    parser.add_argument("--list", action="store_true", help="list the changes and make none")
    options = parser.parse_args(arguments)
    files = [file for file in TARGETS if options.only in file]
    texts = {file: (ROOT / "src" / "gpuenv" / file).read_text(encoding="utf-8") for file in files}
    mutants = [mutant for file, text in texts.items() for mutant in mutants_of(file, text)]
    if options.sample is not None and options.sample < len(mutants):
        mutants = random.Random(options.seed).sample(mutants, options.sample)  # noqa: S311 - no secret
    if options.list:
        for mutant in mutants:
            print(_shown(mutant))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return _try_all(mutants, _copied(Path(folder)), options.aim)


def _try_all(mutants: list[Mutant], scratch: Path, aim: float) -> int:
    unseen = 0
    names = dict.fromkeys(name for mutant in mutants for name in TARGETS[mutant.file])
    if failing := [name for name in names if not _passes(name, scratch)]:
        print(f"these fail without any change: {', '.join(failing)}", file=sys.stderr)
        return 2
    for number, mutant in enumerate(mutants, start=1):
        if not is_seen(mutant, scratch):
            unseen += 1
            print(_shown(mutant), flush=True)
        print(f"{number} tried, {number - unseen} seen", end="\r", file=sys.stderr)
    share = 100 * (len(mutants) - unseen) / max(len(mutants), 1)
    print(f"{len(mutants) - unseen} of {len(mutants)} changes are seen by a test: {share:.0f} %")
    return int(share < aim)


def _shown(mutant: Mutant) -> str:
    old, new = (" ".join(text.split())[:150] for text in (mutant.before, mutant.after))
    return f"{mutant.file}:{mutant.line}\n  - {old}\n  + {new}"


if __name__ == "__main__":
    sys.exit(main())
