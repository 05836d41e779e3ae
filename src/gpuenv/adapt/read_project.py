"""Find and read what a paper or a colleague left: files as named, or those of a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from gpuenv.adapt.find_files import FoundFile, find_files
from gpuenv.adapt.git_date import last_changed
from gpuenv.adapt.model import DeclaredRequirement, DependencyFile, FileKind, Project, ProjectSource
from gpuenv.adapt.parsers.collector import More, decode_text, shown
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.adapt.sources.choice import Choice, choose
from gpuenv.adapt.sources.frameworks import python_bounds
from gpuenv.adapt.sources.gather import gather
from gpuenv.adapt.sources.names import PATCHABLE, is_environment
from gpuenv.adapt.sources.readers import ReadSource, read_source
from gpuenv.adapt.sources.wheel_pythons import python_hints
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.wheel import Platform
from gpuenv.planning.load_knowledge import load_knowledge

_LARGEST = 2 << 20  # bytes
_MOST = 100  # files that name one another
_MOST_TOLD = 5  # lines that were not understood
_ENVIRONMENTS = ("environment.yml", "environment.yaml", "conda.yml", "conda.yaml", "env.yml", "env.yaml")
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_MOST_CANDIDATES = 20


def read_project(
    paths: tuple[Path, ...],
    environ: Mapping[str, str],
    platform: Platform = "linux-64",
    source: Path | None = None,
) -> Project:
    """Read files, or those of folders that say what to install, for a platform.

    Nothing of them is run. Files that they name are read where they lie in the same checkout or folder.
    `source` is the file that counts where several say different things. Raises UsageError for what can't be
    read, where nothing is asked for, and where equals ask for different things.
    """
    reading = _Left(platform)
    if source is not None and not any(path.is_dir() for path in paths):
        raise _no_source(source)
    for path in paths:
        reading.open(path)
        if path.is_dir():
            reading.folder(path, source)
        else:
            reading.named(path, kind_of(path))
    if not any(map(_says_something, reading.declared)):
        raise _nothing(paths, reading.warnings)
    declared = tuple(reading.declared)
    date = last_changed(tuple(Path(file.path) for file in reading.files if file.kind != "readme"), environ)
    return Project(
        files=tuple(reading.files),
        declared=(
            *declared,
            *python_bounds(declared, load_knowledge(environ).ecosystem),
            *python_hints(declared),
        ),
        date=date,
        warnings=tuple(dict.fromkeys(reading.warnings)),
        sources=tuple(reading.sources),
    )


def _says_something(declared: DeclaredRequirement) -> bool:
    return declared.project != "index" and declared.requirement is not None


def _nothing(paths: tuple[Path, ...], warnings: list[str]) -> UsageError:
    named = series(f"`{path}`" for path in paths)
    return UsageError(
        tr("{paths}: no file there lists what to install", paths=named),
        code="nothing-left",
        because=tuple(Because(text, named) for text in dict.fromkeys(warnings[:_MOST_TOLD])),
        fixes=(Fix(tr("name the file: `gpuenv plan --adapt -r FILE`, or `-f FILE` for an environment.yml")),),
    )


def _no_source(source: Path) -> UsageError:
    return UsageError(
        tr("`{path}` is not a file of the folder that says what to install", path=source),
        code="no-source",
        fixes=(Fix(tr("name a file of the folder that is adapted, or omit --source")),),
    )


class _Left(Struct):
    """Collects files and what they ask for; each file once."""

    platform: Platform
    files: list[DependencyFile] = field(default_factory=list)
    declared: list[DeclaredRequirement] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sources: list[ProjectSource] = field(default_factory=list)
    _seen: set[Path] = field(default_factory=set)
    _root: Path = field(default_factory=Path)

    def open(self, path: Path) -> None:
        """Begin with a file or folder; what its files name must lie within its checkout, else its folder."""
        folder = path.resolve() if path.is_dir() else path.resolve().parent
        checkouts = (parent for parent in (folder, *folder.parents) if (parent / ".git").exists())
        self._root = next(checkouts, folder)

    def named(self, path: Path, kind: FileKind) -> None:
        """Read a file that a person named; raise UsageError where that fails."""
        try:
            self._take(path, kind)
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            raise UsageError(
                tr("`{path}` cannot be read: {reason}", path=path, reason=reason),
                code="bad-left-file",
                because=(Because(reason, str(path)),),
            ) from None

    def folder(self, folder: Path, source: Path | None) -> None:
        """Read the file of a folder that is adapted, and what the others say beside it."""
        found = tuple(filter(self._may_be_one, find_files(folder)))
        asked = {source.resolve(), (folder / source).resolve()} if source is not None else set()
        named = next((item for item in found if item.path.resolve() in asked), None)
        if source is not None and named is None:
            raise _no_source(source)
        is_adapted = named is not None and named.name.reader in PATCHABLE
        choices = [self._choice(folder, paths) for paths in candidates(folder, found)]
        self.warnings += (text for choice in choices if not choice.files for text in choice.warnings)
        if named is not None and is_adapted:
            together = project_files(named.path.parent) if named.name.kind == "project" else (named.path,)
            choices = [self._choice(folder, together)]
        first = None if is_adapted else named
        chosen = choose(choices, ask=named is None)
        own = chosen.files if chosen else ()
        others = self._others(found, {Path(file.path).resolve() for file in own})
        gathered = gather(chosen, others, _name(first.path) if first else None, ask=named is None)
        self.files += (*own, *gathered.files)
        self.declared += gathered.declared
        self.warnings += (*(chosen.warnings if chosen else ()), *gathered.warnings)
        self.sources += gathered.sources

    def _may_be_one(self, item: FoundFile) -> bool:
        """Whether a file whose name tells nothing looks like what it may be."""
        if not item.name.by_content:
            return True
        try:
            return self._lies_here(item.path) and is_environment(decode_text(_content(item.path)))
        except (OSError, ValueError):
            return False

    def _choice(self, folder: Path, paths: tuple[Path, ...]) -> Choice:
        """Read files that are adapted together apart from all others; broken ones are reported."""
        apart = _Left(self.platform, _seen=set(self._seen), _root=self._root)
        for path in paths:
            apart._forgiving(path, kind_of(path))
        names = tuple(path.relative_to(folder).as_posix() for path in paths)
        return Choice(names, tuple(apart.files), tuple(apart.declared), tuple(apart.warnings))

    def _others(self, found: tuple[FoundFile, ...], own: set[Path]) -> tuple[ReadSource, ...]:
        """Read what the other files say; of those nobody named nothing has to be understood."""
        results: list[ReadSource] = []
        for item in found:
            if item.path.resolve() in own or not self._lies_here(item.path):
                continue
            try:
                file = DependencyFile(_name(item.path), "readme", decode_text(_content(item.path)))
                results += read_source(file, item.name, item.relative, self.platform)
            except (OSError, ValueError):
                continue
        return tuple(results)

    def _forgiving(self, path: Path, kind: FileKind, *, constraint: bool = False) -> None:
        """Read a file that nobody named: a link may lead anywhere, as what it leads to is shown."""
        name = shown(_name(path))
        if not self._lies_here(path):
            self.warnings.append(tr("`{path}` is outside the project and was skipped", path=name))
            return
        try:
            self._take(path, kind, constraint=constraint)
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            self.warnings.append(tr("`{path}` cannot be read: {reason}", path=name, reason=reason))

    def _take(self, path: Path, kind: FileKind, *, constraint: bool = False) -> None:
        resolved = path.resolve()
        if resolved in self._seen or len(self._seen) >= _MOST:
            return
        self._seen.add(resolved)
        content = _content(path)
        file = DependencyFile(_name(path), kind, decode_text(content))
        parsed = parse_file(file, self.platform, constraint=constraint)
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            template = N_("{file} is in UTF-16, which git cannot patch: --write changes it")
            self.warnings.append(tr(template, file=shown(file.path)))
        self.files.append(file)
        self.declared += parsed.declared
        self.warnings += parsed.warnings
        for more in parsed.more:
            self._follow(path, more)

    def _follow(self, path: Path, more: More) -> None:
        target = path.parent / more.path
        facts = {"place": f"{shown(_name(path))}:{more.line}", "path": shown(more.path)}
        if "://" in more.path or not self._lies_here(target):
            self.warnings.append(tr("{place}: `{path}` is outside the project and was skipped", **facts))
        elif more.kind == "project":
            paths = project_files(target)
            for file in paths:
                self._forgiving(file, kind_of(file))
            if not paths:
                self.warnings.append(tr("{place}: `{path}` has no file that lists its requirements", **facts))
        elif target.is_file():
            self._forgiving(target, "requirements", constraint=more.kind == "constraints")
        else:
            self.warnings.append(tr("{place}: `{path}` does not exist", **facts))

    def _lies_here(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._root)


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise ValueError(tr("it is not a file"))
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(tr("it is larger than {limit} MB", limit=_LARGEST >> 20))
    return content


def _name(path: Path) -> str:
    """Return a path as it is shown: relative to where the command runs if it lies there."""
    plain = Path(os.path.normpath(path))
    here = Path.cwd()
    return (plain.relative_to(here) if plain.is_relative_to(here) else plain).as_posix()


def kind_of(path: Path) -> FileKind:
    """Return the kind of a file by its name; anything that is not known is taken for pip's requirements."""
    name = path.name.lower()
    if name.endswith((".yml", ".yaml")):
        return "environment"
    if name.endswith(".toml"):
        return "pyproject"
    if name.endswith((".py", ".cfg")):
        return "setup"
    return "readme" if name.startswith("readme") or name.endswith((".md", ".rst")) else "requirements"


def candidates(folder: Path, found: tuple[FoundFile, ...]) -> tuple[tuple[Path, ...], ...]:
    """Return the files that may be adapted, those of a project in one, the likeliest of equals first."""
    first = [folder / name for name in ("requirements.txt", *_ENVIRONMENTS)]
    lists = [item.path for item in found if item.name.reader in ("requirements", "environment")]
    ordered = sorted(lists, key=lambda path: first.index(path) if path in first else len(first))
    projects = dict.fromkeys(item.path.parent for item in found if item.name.kind == "project")
    groups = [files for parent in projects if (files := project_files(parent))]
    return tuple([(path,) for path in ordered][:_MOST_CANDIDATES] + groups[:_MOST_CANDIDATES])


def project_files(folder: Path) -> tuple[Path, ...]:
    """Return the files in which a project says what it requires."""
    return tuple(folder / name for name in _PROJECT if (folder / name).is_file())
