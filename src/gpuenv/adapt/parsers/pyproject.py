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

from collections.abc import Iterator
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile, shown
from gpuenv.adapt.parsers.pip_requirement import read_pip
from gpuenv.adapt.parsers.poetry import specifier_of
from gpuenv.adapt.parsers.requirements_txt import take_requirement
from gpuenv.adapt.parsers.toml_spans import Key, TomlSpan, toml_places, value_at
from gpuenv.i18n.foreign_messages import translate_foreign
from gpuenv.i18n.messages import tr
from gpuenv.resolution.request import STACK
from gpuenv.untrusted.documents import load_toml

_POETRY: Key = ("tool", "poetry", "dependencies")
_LEFT_ALONE: tuple[Key, ...] = (
    ("project", "optional-dependencies"),
    ("dependency-groups",),
    ("tool", "poetry", "group"),
    ("tool", "poetry", "dev-dependencies"),
)
_INDEXES: tuple[Key, ...] = (("tool", "uv", "index"), ("tool", "poetry", "source"))
_SOURCES: Key = ("tool", "uv", "sources")


def read_pyproject(file: DependencyFile) -> ParsedFile:
    """Read a pyproject.toml; raise ValueError for one that is no TOML."""
    try:
        document = load_toml(file.text.removeprefix("\ufeff"))
        reader = _Reader(Collector(file), document, toml_places(file.text))
    except ValueError as error:
        raise ValueError(tr("it is not valid TOML: {error}", error=translate_foreign(str(error)))) from None
    reader.read()
    return reader.found.result()


class _Reader:
    def __init__(self, collector: Collector, document: dict[str, Any], places: dict[Key, TomlSpan]) -> None:
        self.found, self.document, self.places = collector, document, places

    def read(self) -> None:
        for key in _LEFT_ALONE:
            if value_at(self.document, key):
                text = tr("`{table}` is left unchanged", table=".".join(map(str, key)))
                self.found.tell(0, text)
        for start, end, text in self._string(("project", "requires-python")):
            self.found.take("python", text, start, end)
        listed = value_at(self.document, ("project", "dependencies"))
        for count in range(len(listed) if isinstance(listed, list) else 0):
            for start, end, text in self._string(("project", "dependencies", count)):
                take_requirement(self.found, text, start, end)
        self._poetry()
        self._indexes()

    def _string(self, key: Key) -> Iterator[tuple[int, int, str]]:
        """Yield where a string stands within its quotes; nothing for none, or for one with escapes."""
        value, span = value_at(self.document, key), self.places.get(key)
        if not isinstance(value, str) or span is None:
            return
        if self.found.file.text[span.start + 1 : span.end - 1] == value:
            yield span.start + 1, span.end - 1, value
        else:
            message = tr(
                "`{text}` is written in a way that cannot be changed, and is left unchanged",
                text=shown(value),
            )
            self.found.tell(span.start, message)

    def _poetry(self) -> None:
        wanted = value_at(self.document, _POETRY)
        for name, said in wanted.items() if isinstance(wanted, dict) else ():
            several = said if isinstance(said, list) else [None]
            for count in range(len(several)):
                key: Key = (*_POETRY, name, count) if isinstance(said, list) else (*_POETRY, name)
                self._poetry_dependency(name, key)

    def _poetry_dependency(self, name: str, key: Key) -> None:
        said = value_at(self.document, key)
        if not isinstance(said, dict):
            self._poetry_version(name, key, {})
        elif isinstance(said.get("version"), str):
            self._poetry_version(name, (*key, "version"), said)
        elif isinstance(said.get("url"), str):
            self._poetry_address(name, key, said["url"])
        elif isinstance(said.get("git"), str):
            self._poetry_address(name, key, f"git+{said['git']}")
        elif key in self.places:
            self._not_understood(self.places[key], name)

    def _poetry_version(self, name: str, key: Key, table: dict[str, Any]) -> None:
        for start, end, text in self._string(key):
            project = canonicalize_name(name)
            specifier = specifier_of(text)
            requirement = None if specifier is None else _requirement(project, specifier, table)
            if requirement is None:
                self._not_understood(TomlSpan(start, end), name)
            self.found.take(project, requirement, start, end, "poetry")
            if project in STACK and isinstance(table.get("source"), str):
                source = shown(table["source"])
                self.found.tell(
                    start, tr("{project} comes from the source `{name}`", project=project, name=source)
                )

    def _poetry_address(self, name: str, key: Key, address: str) -> None:
        span = self.places.get(key)
        if span is not None:
            read = read_pip(self.found.bounded(f"{name} @ {address}", span.start))
            self.found.take(canonicalize_name(name), read.requirement, span.start, span.end, "poetry")

    def _not_understood(self, span: TomlSpan, name: str) -> None:
        text = f"{name} = {self.found.file.text[span.start : span.end]}"
        message = tr("`{text}` is not understood and is left unchanged", text=shown(text))
        self.found.tell(span.start, message)

    def _indexes(self) -> None:
        for key in _INDEXES:
            listed = value_at(self.document, key)
            for count in range(len(listed) if isinstance(listed, list) else 0):
                for start, end, text in self._string((*key, count, "url")):
                    self.found.take("index", text, start, end)
        sources = value_at(self.document, _SOURCES)
        for name in sources if isinstance(sources, dict) else ():
            if canonicalize_name(name) in STACK:
                message = tr(
                    "`{table}` sets where {project} comes from", table="tool.uv.sources", project=name
                )
                self.found.tell(self._source_place(name), message)

    def _source_place(self, name: str) -> int:
        keys = ((*_SOURCES, name), (*_SOURCES, name, "index"), (*_SOURCES, name, 0))
        return next((self.places[key].start for key in keys if key in self.places), 0)


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
