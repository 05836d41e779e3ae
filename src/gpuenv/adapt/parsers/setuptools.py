"""setup.py, which is parsed and never run, and setup.cfg, with the position of each requirement.

setup(name="paper", python_requires=">=3.6", install_requires=["torch==1.7.1", "numpy<1.20"])

[options]
python_requires = >=3.6
install_requires =
    torch==1.7.1
    numpy<1.20; python_version < "3.8"

https://setuptools.pypa.io/en/latest/userguide/declarative_config.html
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from msgspec import Struct

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile, shown
from gpuenv.adapt.parsers.requirements_txt import take_requirement
from gpuenv.i18n.foreign_messages import translate_foreign
from gpuenv.i18n.messages import tr

_LARGEST = 512 << 10
_PLAIN = re.compile(r"[rRuU]?(?P<quote>['\"])(?P<inner>.*)(?P=quote)")
_FILE = re.compile(r"[\w./-]*require[\w./-]*\.(?:txt|in)", re.ASCII)
_SECTION = re.compile(r"\[(?P<name>[^\]\r\n]+)\]")
_OPTION = re.compile(r"(?P<name>[\w-]+)\s*[=:][ \t]*")
_COMMENT = ("#", ";")
_NOT_READ = (("options", "tests_require"), ("options", "setup_requires"))


def read_setup(file: DependencyFile) -> ParsedFile:
    """Read a setup.py; what is not written out in it is told; raise ValueError for what is no Python."""
    collector = Collector(file)
    tree = parse_python_text(file.text)
    reader = _Reader(collector, _Places(file.text), _bound(tree))
    said = dict(_keywords(tree, reader.bound))
    if "python_requires" in said:
        reader.python(said["python_requires"])
    if "install_requires" in said:
        reader.requirements(said["install_requires"])
    if "**" in said and "install_requires" not in said:
        text = tr("`{table}` is computed and is left unchanged", table="install_requires")
        collector.tell(reader.places.start(said["**"]), text)
    for name in ("extras_require", "tests_require", "setup_requires"):
        if name in said:
            collector.tell(reader.places.start(said[name]), tr("`{table}` is left unchanged", table=name))
    if not said:
        collector.tell(0, tr("it has no call of `setup` with requirements"))
    return collector.result()


def parse_python_text(text: str) -> ast.Module:
    """Parse Python without running any of it; raise ValueError."""
    if len(text) > _LARGEST:
        raise ValueError(tr("it is larger than {size} KB", size=_LARGEST >> 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes in somebody's regexes
        try:
            return ast.parse(text.removeprefix("\ufeff"))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = translate_foreign(str(getattr(error, "msg", error)) or type(error).__name__)
            raise ValueError(tr("it is not valid Python 3: {error}", error=reason)) from None


def _bound(tree: ast.Module) -> dict[str, ast.expr]:
    """What the module's names are bound to, where that is done once."""
    nodes: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    nodes.setdefault(target.id, []).append(node.value)
    return {name: values[0] for name, values in nodes.items() if len(values) == 1}


def _keywords(tree: ast.Module, bound: dict[str, ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    """Yield what `setup` is called with; `**settings` is looked up where it is a dict that is written out."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _name(node.func) != "setup":
            continue
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield keyword.arg, keyword.value
            else:
                entries = tuple(_entries(_looked_up(keyword.value, bound)))
                yield from entries or (("**", keyword.value),)


def _entries(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.Call) and _name(node.func) == "dict":
        yield from ((item.arg, item.value) for item in node.keywords if item.arg is not None)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _looked_up(node: ast.expr, bound: dict[str, ast.expr]) -> ast.expr:
    return bound.get(node.id, node) if isinstance(node, ast.Name) else node


class _Places:
    """The characters at which ast's nodes stand, which counts bytes of UTF-8 in a line."""

    def __init__(self, text: str) -> None:
        self.text = text
        base = 1 if text.startswith("\ufeff") else 0
        self.starts = [base, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]

    def start(self, node: ast.expr) -> int:
        return self._at(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        return self._at(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def _at(self, line: int, column: int) -> int:
        start = self.starts[line - 1]
        ahead = self.text[start : start + column].encode("utf-8", "replace")[:column]
        return start + len(ahead.decode("utf-8", "ignore"))


class _Reader(Struct):
    collector: Collector
    places: _Places
    bound: dict[str, ast.expr]

    def python(self, node: ast.expr) -> None:
        for start, end, text in self._string(_looked_up(node, self.bound)):
            self.collector.take("python", text, start, end)

    def requirements(self, node: ast.expr) -> None:
        value = _looked_up(node, self.bound)
        if isinstance(value, (ast.List, ast.Tuple)):
            for item in value.elts:
                for start, end, text in self._string(item):
                    take_requirement(self.collector, text, start, end)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            self.requirements(value.left)
            self.requirements(value.right)
        else:
            self._another_file(value)

    def _another_file(self, value: ast.expr) -> None:
        """Take the file that is read: `open("requirements.txt").read().splitlines()`, by a function too."""
        named = next(self._files(value, 0), None)
        start = self.places.start(value)
        if named is None:
            self.collector.tell(
                start, tr("`{table}` is computed and is left unchanged", table="install_requires")
            )
        else:
            self.collector.follow(named, "requirements", start)

    def _files(self, value: ast.AST, depth: int) -> Iterator[str]:
        names = []
        for node in ast.walk(value):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FILE.fullmatch(node.value):
                yield node.value
            elif isinstance(node, ast.Name) and node.id in self.bound:
                names.append(node.id)
        for name in names if depth < 3 else ():  # noqa: PLR2004 - a name of a name of a name
            yield from self._files(self.bound[name], depth + 1)

    def _string(self, node: ast.expr) -> Iterator[tuple[int, int, str]]:
        """Yield where a string stands within its quotes; nothing for what is put together or has escapes."""
        start, end = self.places.start(node), self.places.end(node)
        value = node.value if isinstance(node, ast.Constant) else None
        raw = self.collector.file.text[start:end]
        plain = _PLAIN.fullmatch(raw)
        if plain and plain["inner"] == value:
            yield start + plain.start("inner"), start + plain.end("inner"), plain["inner"]
        else:
            self.collector.tell(
                start, tr("`{text}` is not a plain string and is left unchanged", text=shown(raw))
            )


def read_setup_cfg(file: DependencyFile) -> ParsedFile:
    """Read a setup.cfg; nothing is raised but for what no person's file has."""
    collector = Collector(file)
    for section, name, start, end in _values(file.text):
        text = file.text[start:end]
        if section == "options.extras_require" or (section, name) in _NOT_READ:
            table = section if section == "options.extras_require" else name
            collector.tell(start, tr("`{table}` is left unchanged", table=table))
        elif (section, name) == ("options", "python_requires"):
            collector.take("python", text, start, end)
        elif (section, name) == ("options", "install_requires"):
            _read_cfg_requirement(collector, text, start, end)
    return collector.result()


def _read_cfg_requirement(collector: Collector, text: str, start: int, end: int) -> None:
    """Note one line: a requirement, or `file: requirements.txt, more.txt`."""
    if not text.startswith("file:"):
        take_requirement(collector, text, start, end)
        return
    for path in text.removeprefix("file:").split(","):
        if path.strip():
            collector.follow(path.strip(), "requirements", start)


def _values(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield section and option of one line of a value each, by the places of the line."""
    at = 1 if text.startswith("\ufeff") else 0
    section, option = "", ""
    for line in re.split(r"(?<=\n)", text[at:]):
        bare, start = line.strip(), at + len(line) - len(line.lstrip())
        at += len(line)
        if not bare or bare.startswith(_COMMENT):
            continue
        header = _SECTION.match(line)
        if header:
            section, option = header["name"].strip(), ""
            continue
        begin = None if line[0].isspace() else _OPTION.match(line)
        if begin:
            option = begin["name"].lower().replace("-", "_")
            start += begin.end()
            bare = line[begin.end() :].strip()
        if section.startswith("options") and bare:
            yield section, option, start, start + len(bare)
