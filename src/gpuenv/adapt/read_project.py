"""Find and read what a paper or a colleague left: files as named, or those of a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field
from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.adapt.git_date import last_changed
from gpuenv.adapt.model import DeclaredRequirement, DependencyFile, FileKind, Project
from gpuenv.adapt.parsers.collector import More, decode_text, shown
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import N_, tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.wheel import Platform

_LARGEST = 2 << 20  # bytes
_MOST = 100  # files that name one another
_MOST_TOLD = 5  # lines that were not understood
_ENVIRONMENTS = ("environment.yml", "environment.yaml", "conda.yml", "conda.yaml", "env.yml", "env.yaml")
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_OTHERS = (
    "*env*.yml",
    "*env*.yaml",
    "*conda*.yml",
    "*conda*.yaml",
    "*requirements*.txt",
    "requirements/*.txt",
)
_READMES = ("readme", "install")
_TEXTS = (".md", ".rst", ".txt", "")
_MOST_CANDIDATES = 20


def read_project(
    paths: tuple[Path, ...], environ: Mapping[str, str], platform: Platform = "linux-64"
) -> Project:
    """Read files, or the files of folders and what their README says, for a platform.

    Nothing of them is run. Files that they name are read where they lie in the same checkout or folder.
    Raises UsageError for what can't be read and where nothing is asked for.
    """
    reading = _Left(platform)
    for path in paths:
        reading.open(path)
        if path.is_dir():
            reading.folder(path)
        else:
            reading.named(path, kind_of(path))
    if not any(map(_says_something, reading.declared)):
        raise _nothing(paths, reading.warnings)
    date = last_changed(tuple(Path(file.path) for file in reading.files if file.kind != "readme"), environ)
    return Project(
        files=tuple(reading.files),
        declared=tuple(reading.declared),
        date=date,
        warnings=tuple(dict.fromkeys(reading.warnings)),
    )


def _says_something(declared: DeclaredRequirement) -> bool:
    return declared.project != "index" and declared.requirement is not None


def _nothing(paths: tuple[Path, ...], warnings: list[str]) -> UsageError:
    named = ", ".join(f"`{path}`" for path in paths)
    return UsageError(
        tr("{paths}: no file there lists what to install", paths=named),
        code="nothing-left",
        because=tuple(Because(text, named) for text in dict.fromkeys(warnings[:_MOST_TOLD])),
        fixes=(Fix(tr("name the file: `gpuenv plan --adapt -r FILE`, or `-f FILE` for an environment.yml")),),
    )


class _Left(Struct):
    """Collects files and what they ask for; each file once."""

    platform: Platform
    files: list[DependencyFile] = field(default_factory=list)
    declared: list[DeclaredRequirement] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
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

    def folder(self, folder: Path) -> None:
        """Read the first files of a folder that require something, and its README."""
        choices = candidates(folder)
        used = next((choice for choice in choices if self._try(choice)), ())
        unused = [path for choice in choices if choice != used for path in choice]
        if used and unused:
            template = N_("{used} is used; {others} were not read: name one to read it instead")
            self.warnings.append(tr(template, used=_listed(used), others=_listed(unused[:6])))
        for path in readmes(folder):
            if self._lies_here(path):
                self._read_hints(path)

    def _try(self, choice: tuple[Path, ...]) -> bool:
        """Whether any of these files requires something; broken ones are reported."""
        before = len(self.declared)
        for path in choice:
            self._forgiving(path, kind_of(path))
        return any(item.project != "python" and _says_something(item) for item in self.declared[before:])

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

    def _read_hints(self, path: Path) -> None:
        try:
            file = DependencyFile(_name(path), "readme", decode_text(_content(path)))
            parsed = parse_file(file, self.platform)
        except (OSError, ValueError):  # prose, of which nothing has to be understood
            return
        hints = without_answered(parsed.declared, tuple(self.declared))
        if not hints:
            return
        self.files.append(file)
        self.declared += hints
        self.warnings += parsed.warnings
        for hint in hints:
            if (hint.project, hint.notation) != ("index", "conda"):  # a channel says nothing alone
                place = f"{shown(hint.file)}:{hint.line}"
                self.warnings.append(tr("{place} has `{text}`", place=place, text=shown(hint.text)))


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


def _listed(paths: tuple[Path, ...] | list[Path]) -> str:
    return ", ".join(shown(_name(path)) for path in paths)


def without_answered(
    hints: tuple[DeclaredRequirement, ...], declarations: tuple[DeclaredRequirement, ...]
) -> tuple[DeclaredRequirement, ...]:
    """Return the hints about what the files leave open: a project without a version, the Python, the CUDA."""
    said = {declared.project for declared in declarations if not _is_open(declared)}
    left = tuple(hint for hint in hints if hint.project not in said)
    if any(hint.project == "torch" for hint in left):
        return left
    return tuple(hint for hint in left if hint.project not in ("index", "cuda"))  # they were torch's


def _is_open(declared: DeclaredRequirement) -> bool:
    """Whether a line leaves the version to whoever reads it; one that is not understood does not."""
    if declared.project in ("python", "cuda", "index"):
        return declared.requirement == ""
    if declared.requirement is None:
        return False
    try:
        requirement = Requirement(declared.requirement)
    except InvalidRequirement:
        return False
    return not requirement.specifier and requirement.url is None


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


def candidates(folder: Path) -> tuple[tuple[Path, ...], ...]:
    """Return the files that may say what to install, the likeliest first; those that go together in one."""
    single = [folder / name for name in ("requirements.txt", *_ENVIRONMENTS)]
    others = [path for pattern in _OTHERS for path in sorted(folder.glob(pattern))][:_MOST_CANDIDATES]
    project = project_files(folder)
    results = [(path,) for path in single if path.is_file()]
    rest = [(path,) for path in others if path.is_file()]
    return tuple(dict.fromkeys((*results, *((project,) if project else ()), *rest)))


def project_files(folder: Path) -> tuple[Path, ...]:
    """Return the files in which a project says what it requires."""
    return tuple(folder / name for name in _PROJECT if (folder / name).is_file())


def readmes(folder: Path) -> tuple[Path, ...]:
    """Return the files that tell people how to install, the README first."""
    texts = (path for path in sorted(folder.iterdir()) if path.suffix.lower() in _TEXTS)
    named = (path for path in texts if path.stem.lower().startswith(_READMES) and path.is_file())
    return tuple(sorted(named, key=lambda path: (not path.stem.lower().startswith("readme"), len(path.name))))
