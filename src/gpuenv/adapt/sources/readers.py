"""Which reader reads which kind of source, and what of it is a fact about torch's stack, Python or CUDA."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile, SourceKind
from gpuenv.adapt.parsers.collector import Collector, ParsedFile
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.adapt.parsers.readme import FACTS, read_readme
from gpuenv.adapt.sources.containers import (
    read_cog,
    read_container,
    read_notebook,
    read_pipfile,
    read_python_version,
    read_tox,
)
from gpuenv.adapt.sources.locks import read_conda_lock, read_pipfile_lock, read_toml_lock
from gpuenv.adapt.sources.names import PATCHABLE, KnownName, SourceRank, is_environment, rank_of
from gpuenv.adapt.sources.prose import read_prose
from gpuenv.model.wheel import Platform

_OF_INTEREST = re.compile(r"torch|python|cuda", re.IGNORECASE)
_WHOLE = ("install", "script", "lock")  # kinds of which all counts that their readers take
_CLASSIFIER = re.compile(r"Programming Language :: Python :: 3\.(?P<minor>\d{1,2})\b")
_READ_BY_NAME = {
    "toml-lock": read_toml_lock,
    "pipfile-lock": read_pipfile_lock,
    "cog": read_cog,
    "container": read_container,
    "notebook": read_notebook,
    "pipfile": read_pipfile,
    "python-version": read_python_version,
    "tox": read_tox,
    "commands": read_readme,
    "document": read_readme,
}


class ReadSource(Struct, frozen=True):
    """A file as a source: what kind, how binding, what it says in the order of its text."""

    file: DependencyFile
    kind: SourceKind
    rank: SourceRank
    declared: tuple[DeclaredRequirement, ...]
    warnings: tuple[str, ...] = ()


def read_source(
    file: DependencyFile, name: KnownName, path: str, platform: Platform
) -> tuple[ReadSource, ...]:
    """Read what a file says, a document twice: its commands and its sentences.

    `path` is the one in the project. Raises ValueError for a file that is not what its name says.
    """
    if not _OF_INTEREST.search(file.text) and name.reader != "python-version":
        return ()
    if name.reader == "environment" and not is_environment(file.text):
        return ()
    result = _parsed(file, name, platform)
    said = ReadSource(file, name.kind, rank_of(path, name.kind), _facts(result, name.kind), result.warnings)
    sources = (said,) if name.reader != "document" else _with_prose(said, path)
    return tuple(source for source in sources if source.declared)


def _with_prose(said: ReadSource, path: str) -> tuple[ReadSource, ReadSource]:
    """Return a document's commands and its sentences; who says which torch has the other packages."""
    result = read_prose(said.file)
    prose = ReadSource(said.file, "prose", rank_of(path, "prose"), _facts(result, "prose"), result.warnings)
    names_torch = [any(item.project == "torch" for item in source.declared) for source in (said, prose)]
    if names_torch != [False, True]:
        return said, prose
    facts = tuple(item for item in said.declared if item.project in FACTS)
    packages = tuple(item for item in said.declared if item.project not in FACTS)
    return replace(said, declared=facts), replace(prose, declared=(*prose.declared, *packages))


def _parsed(file: DependencyFile, name: KnownName, platform: Platform) -> ParsedFile:
    if name.reader == "conda-lock":
        return read_conda_lock(file, platform)
    if name.reader in PATCHABLE:
        parsed = parse_file(replace(file, kind=name.reader), platform)
        return _with_classifiers(file, parsed) if name.kind == "project" else parsed
    return _READ_BY_NAME[name.reader](file)


def _with_classifiers(file: DependencyFile, parsed: ParsedFile) -> ParsedFile:
    """Take the Pythons that a project is classified for where it names no other bound."""
    classifiers = list(_CLASSIFIER.finditer(file.text))
    if not classifiers or any(item.project == "python" for item in parsed.declared):
        return parsed
    minors = [int(match["minor"]) for match in classifiers]
    collector = Collector(file, hint=True)
    collector.take("python", f">=3.{min(minors)},<3.{max(minors) + 1}", *classifiers[0].span())
    return replace(parsed, declared=(*parsed.declared, *collector.declared))


def _facts(parsed: ParsedFile, kind: SourceKind) -> tuple[DeclaredRequirement, ...]:
    """Return the facts; of commands and locks all that is installed, of other kinds what concerns torch.

    What concerns torch hints at what the adapted file leaves open; what else commands install is required.
    """
    facts = (item for item in parsed.declared if not item.constraint)
    return tuple(
        replace(item, hint=True) if item.project in FACTS else item
        for item in facts
        if (item.requirement is not None if item.project in FACTS else kind in _WHOLE)
    )
