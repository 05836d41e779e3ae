"""A pyproject.toml, with the place of all that it asks for.

[project]
requires-python = ">=3.7"
dependencies = ["torch==1.7.1", "numpy<1.20"]

[tool.poetry.dependencies]
python = "^3.7"
torch = { version = "1.7.1", source = "torch" }

https://packaging.python.org/en/latest/specifications/pyproject-toml/
https://python-poetry.org/docs/dependency-specification/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile, not_understood, shown
from gpuenv.adapt.parsers.pip_requirement import PipLine, read_pip
from gpuenv.adapt.parsers.requirements_txt import take_requirement
from gpuenv.adapt.parsers.toml_spans import Key, TomlSpan, toml_spans, value_at
from gpuenv.i18n.foreign_messages import translate_foreign
from gpuenv.i18n.messages import N_, tr
from gpuenv.resolution.request import STACK
from gpuenv.untrusted.documents import load_toml

_POETRY: Key = ("tool", "poetry", "dependencies")
_LEFT_ALONE: tuple[Key, ...] = (
    ("project", "optional-dependencies"),
    ("dependency-groups",),
    ("tool", "poetry", "group"),
    ("tool", "poetry", "dev-dependencies"),
    ("tool", "pdm", "dev-dependencies"),
    ("tool", "uv", "dev-dependencies"),
    ("tool", "uv", "constraint-dependencies"),
    ("tool", "uv", "override-dependencies"),
    ("tool", "hatch", "envs"),
    ("tool", "pixi", "dependencies"),
    ("tool", "pixi", "pypi-dependencies"),
    ("tool", "pixi", "feature"),
    ("tool", "conda-lock", "dependencies"),
)
_DYNAMIC: Key = ("tool", "setuptools", "dynamic", "dependencies")
_INDEXES: tuple[Key, ...] = (("tool", "uv", "index"), ("tool", "poetry", "source"))
_SOURCES: Key = ("tool", "uv", "sources")
_BOUND = re.compile(r"(?P<kind>[\^~])\s*(?P<release>\d{1,9}(?:\.\d{1,9}){0,4})(?P<rest>[^\s,]*)")
_EXACT = re.compile(r"v?(?P<version>\d[^\s,<>=!~]*)")


def read_pyproject(file: DependencyFile) -> ParsedFile:
    """Read a pyproject.toml; raise ValueError for one that is no TOML."""
    try:
        document = load_toml(file.text.removeprefix("\ufeff"))
        reader = _Reader(Collector(file), document, toml_spans(file.text))
    except ValueError as error:
        raise ValueError(tr("it is not valid TOML: {error}", error=translate_foreign(str(error)))) from None
    reader.read()
    return reader.collector.result()


class _Reader:
    def __init__(self, collector: Collector, document: dict[str, Any], places: dict[Key, TomlSpan]) -> None:
        self.collector, self.document, self.places = collector, document, places

    def read(self) -> None:
        for key in _LEFT_ALONE:
            if value_at(self.document, key):
                text = tr("`{table}` is left unchanged", table=".".join(map(str, key)))
                self.collector.tell(0, text)
        for start, end, text in self._string(("project", "requires-python")):
            self.collector.take("python", text, start, end)
        listed = value_at(self.document, ("project", "dependencies"))
        for count in range(len(listed) if isinstance(listed, list) else 0):
            for start, end, text in self._string(("project", "dependencies", count)):
                self._dependency(text, start, end)
        self._dynamic()
        self._poetry()
        self._indexes()

    def _dependency(self, text: str, start: int, end: int) -> None:
        """Note a requirement as `tool.uv.sources` has it: what is of the checkout is asked of no index."""
        read = read_pip(text.strip()) if self.collector.is_bounded(text, start) else PipLine()
        source = self._source(read.project)
        if read.project is None or read.requirement is None or read.project in STACK or not source:
            take_requirement(self.collector, text, start, end)
        elif isinstance(source.get("git"), str):
            self.collector.take(read.project, with_url(read.requirement, git_address(source)), start, end)
        elif isinstance(source.get("path"), str) or source.get("workspace") is True:
            template = N_("`{text}` is of this checkout (`{table}`) and is not installed with the others")
            self.collector.tell(start, tr(template, text=shown(text), table="tool.uv.sources"))
            self.collector.take(read.project, None, start, end)
            if isinstance(source.get("path"), str):
                self.collector.follow(source["path"], "project", start)
        else:
            template = N_("`{table}` sets where {project} comes from")
            self.collector.tell(start, tr(template, table="tool.uv.sources", project=read.project))
            take_requirement(self.collector, text, start, end)

    def _source(self, project: str | None) -> dict[str, Any]:
        """Return what `tool.uv.sources` says of a project, where that is one place."""
        sources = value_at(self.document, _SOURCES)
        for name, source in sources.items() if isinstance(sources, dict) else ():
            if canonicalize_name(name) == project and isinstance(source, dict):
                return source
        return {}

    def _dynamic(self) -> None:
        """Have the files read that setuptools takes requirements from; what else computes them is told."""
        named = value_at(self.document, (*_DYNAMIC, "file"))
        files = [named] if isinstance(named, str) else named if isinstance(named, list) else []
        at = self._start(("project", "dynamic"))
        for path in files:
            if isinstance(path, str):
                self.collector.follow(path, "requirements", self._start((*_DYNAMIC, "file")))
        dynamic = value_at(self.document, ("project", "dynamic"))
        elsewhere = files or value_at(self.document, _POETRY)
        if not elsewhere and isinstance(dynamic, list) and "dependencies" in dynamic:
            self.collector.tell(at, tr("`{table}` is computed and is left unchanged", table="dependencies"))

    def _start(self, key: Key) -> int:
        """Return where the first part of a key's value that has a place stands."""
        keys = (key, (*key, 0), key[:-1])
        return next((self.places[item].start for item in keys if item in self.places), 0)

    def _string(self, key: Key) -> Iterator[tuple[int, int, str]]:
        """Yield where a string stands within its quotes; nothing for none, or for one with escapes."""
        value, span = value_at(self.document, key), self.places.get(key)
        if isinstance(value, str) and span is not None:
            for start, end in self.collector.quoted(value, span.start + 1, span.end - 1):
                yield start, end, value

    def _poetry(self) -> None:
        dependencies = value_at(self.document, _POETRY)
        for name, value in dependencies.items() if isinstance(dependencies, dict) else ():
            if isinstance(value, list):
                for number in range(len(value)):
                    self._poetry_dependency(name, (*_POETRY, name, number))
            else:
                self._poetry_dependency(name, (*_POETRY, name))

    def _poetry_dependency(self, name: str, key: Key) -> None:
        said = value_at(self.document, key)
        if not isinstance(said, dict):
            self._poetry_version(name, key, {})
        elif isinstance(said.get("version"), str):
            self._poetry_version(name, (*key, "version"), said)
        elif isinstance(said.get("url"), str):
            self._poetry_address(name, key, said["url"])
        elif isinstance(said.get("git"), str):
            self._poetry_address(name, key, git_address(said))
        elif key in self.places:
            self._not_understood(self.places[key], name)

    def _poetry_version(self, name: str, key: Key, table: dict[str, Any]) -> None:
        for start, end, text in self._string(key):
            project = canonicalize_name(name)
            specifier = specifier_of(text)
            requirement = None if specifier is None else _requirement(project, specifier, table)
            if requirement is None:
                self._not_understood(TomlSpan(start, end), name)
            self.collector.take(project, requirement, start, end, "poetry")
            if project in STACK and isinstance(table.get("source"), str):
                source = shown(table["source"])
                message = tr("{project} comes from the source `{name}`", project=project, name=source)
                self.collector.tell(start, message)

    def _poetry_address(self, name: str, key: Key, address: str) -> None:
        span = self.places.get(key)
        if span is not None:
            read = read_pip(self.collector.bounded(f"{name} @ {address}", span.start))
            self.collector.take(canonicalize_name(name), read.requirement, span.start, span.end, "poetry")

    def _not_understood(self, span: TomlSpan, name: str) -> None:
        text = f"{name} = {self.collector.file.text[span.start : span.end]}"
        self.collector.tell(span.start, not_understood(text))

    def _indexes(self) -> None:
        for key in _INDEXES:
            listed = value_at(self.document, key)
            for count in range(len(listed) if isinstance(listed, list) else 0):
                for start, end, text in self._string((*key, count, "url")):
                    self.collector.take("index", text, start, end)
        sources = value_at(self.document, _SOURCES)
        for name in sources if isinstance(sources, dict) else ():
            if canonicalize_name(name) in STACK:
                keys = ((*_SOURCES, name), (*_SOURCES, name, "index"), (*_SOURCES, name, 0))
                place = next((self.places[key].start for key in keys if key in self.places), 0)
                template = N_("`{table}` sets where {project} comes from")
                self.collector.tell(place, tr(template, table="tool.uv.sources", project=name))


def git_address(table: dict[str, Any]) -> str:
    """Return the address of a table `{git = "https://…", rev = "abc", subdirectory = "python"}`."""
    revision = next((table[key] for key in ("rev", "tag", "branch") if isinstance(table.get(key), str)), None)
    folder = table.get("subdirectory")
    fragment = f"#subdirectory={folder}" if isinstance(folder, str) else ""
    return f"git+{table['git']}{f'@{revision}' if revision else ''}{fragment}"


def with_url(requirement: str, url: str) -> str | None:
    """Return a requirement as one from an address; None for an address that can't be written."""
    parsed = Requirement(requirement)
    parsed.specifier, parsed.url = SpecifierSet(), url
    try:
        return str(Requirement(str(parsed)))
    except InvalidRequirement:
        return None


def _requirement(project: str, specifier: str, table: dict[str, Any]) -> str | None:
    if project == "python":
        return specifier
    extras = ",".join(str(item) for item in table["extras"]) if isinstance(table.get("extras"), list) else ""
    marker = table.get("markers")
    text = f"{project}{f'[{extras}]' if extras else ''}{specifier}"
    try:
        return str(Requirement(f"{text}; {marker}" if isinstance(marker, str) and marker else text))
    except InvalidRequirement:
        return None


def specifier_of(text: str) -> str | None:
    """Return `^1.7.1` as `>=1.7.1,<2`, `~1.7` as `>=1.7,<1.8`, `1.7.1` as `==1.7.1`; None where it can't be.

    Empty for any version.
    """
    clauses = [_clause(part.strip()) for part in re.split(r",|(?<=[\w*])\s+(?=[<>=!~^])", text.strip())]
    try:
        return str(SpecifierSet(",".join(filter(None, clauses))))
    except InvalidSpecifier:  # `^1 || ^2` among others
        return None


def _clause(text: str) -> str:
    bound, exact = _BOUND.fullmatch(text), _EXACT.fullmatch(text)
    if text in ("", "*"):
        return ""
    if bound:
        parts = [int(part) for part in bound["release"].split(".")]
        if (
            bound["kind"] == "^"
        ):  # up to the first number that is not zero: ^1.2.3 to 2, ^0.2.3 to 0.3, ^0 to 1
            position = next((offset for offset, part in enumerate(parts) if part), len(parts) - 1)
        else:
            position = min(1, len(parts) - 1)
        upper = [*parts[:position], parts[position] + 1]
        return f">={bound['release']}{bound['rest']},<{'.'.join(map(str, upper))}"
    return f"=={exact['version']}" if exact else text
