"""What a paper or a colleague left, and how its files change so that it works here."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gpuenv.model.errors import Because
from gpuenv.model.plan import Plan

FileKind = Literal["requirements", "environment", "pyproject", "setup", "readme"]
# How a place writes what it asks for: pip's, conda's, poetry's (`^1.2`); `python` and `cuda` are no projects.
Notation = Literal["pip", "conda", "poetry"]


# What a file is to a person who looks for the versions, the most binding first.
SourceKind = Literal["lock", "environment", "project", "install", "script", "prose"]
SOURCE_KINDS: tuple[SourceKind, ...] = ("lock", "environment", "project", "install", "script", "prose")

NO_PROJECTS = ("python", "cuda", "index")  # what a file requires beside projects


class DependencyFile(Struct, frozen=True):
    """A file as it was found: `path` as shown to the person, `text` with its own line ends."""

    path: str
    kind: FileKind
    text: str


class DeclaredRequirement(Struct, frozen=True):
    """One thing that a file asks for.

    `project` is canonical (`torch` for conda's `pytorch`), or `python`, or `cuda` (`cudatoolkit=10.2`), or
    `index` (`-f https://…`, which decides where torch comes from). `requirement` is PEP 508, or for `python`
    a specifier, for `cuda` MAJOR.MINOR or `cpu`; None where it was not understood. `start` and `end` are the
    characters of the file's text that a change replaces, `text` what stands there; `line` counts from 1.
    `hint` is true for what only a README says of torch's stack, Python and CUDA, `constraint` for a line of
    a `-c` file: it asks for nothing, but bounds what is asked for. For `index` the requirement is the
    address, or the channel of conda's.
    """

    project: str
    requirement: str | None
    file: str
    line: int
    start: int
    end: int
    text: str
    notation: Notation = "pip"
    hint: bool = False
    constraint: bool = False


class SourceFact(Struct, frozen=True):
    """What a source says of torch's stack, Python or CUDA.

    `used` where it counts in what is decided, `contradicts` where it is another thing than what counts.
    """

    declared: DeclaredRequirement
    used: bool
    contradicts: bool = False


class ProjectSource(Struct, frozen=True):
    """A file that says something; `followed` where it is the one that is adapted, or whose torch counts."""

    path: str
    kind: SourceKind
    followed: bool
    facts: tuple[SourceFact, ...]


class Project(Struct, frozen=True):
    """All that was found: files, what they ask for, what was not understood, the day it was last changed.

    `date` is ISO 8601 (`2020-03-14`), from git; None where it is not known. `warnings` tell what was passed
    over. `sources` has what every file says, those that bind most first; `declared` what counts of it.
    """

    files: tuple[DependencyFile, ...]
    declared: tuple[DeclaredRequirement, ...]
    date: str | None = None
    warnings: tuple[str, ...] = ()
    sources: tuple[ProjectSource, ...] = ()


class Risk(Struct, frozen=True):
    """What changed in torch (or numpy, …) between two releases, and where the code left uses it, if it does.

    `places` are `FILE:LINE`; empty where the code was not looked at or does not use it.
    """

    id: str
    text: str
    source: str
    places: tuple[str, ...] = ()


class RequirementChange(Struct, frozen=True):
    """One changed, removed (`new` is None) or added (`asked` is None) line.

    `new` is the requirement that stands there now (PEP 508, a Python `3.10`, a CUDA `12.8` or conda's
    spec of it `cuda-version=12.8`, an option line);
    the file's own notation is the renderer's business. `why` says which fact forces it, `source` where that
    was read. `pip` is true where a line of conda's becomes one of pip's: what conda does not bring. `channel`
    is the one that a spec which names another one must name: `pytorch::pytorch`.
    """

    project: str
    declared: DeclaredRequirement | None
    old: str | None
    new: str | None
    why: str
    source: str
    risks: tuple[Risk, ...] = ()
    pip: bool = False
    channel: str | None = None


def changed_line(line: DeclaredRequirement, new: str | None, because: Because) -> RequirementChange:
    """Return the change of a line to `new`, its removal where that is None."""
    old = line.requirement or line.text.strip()
    return RequirementChange(line.project, line, old, new, because.text, because.source)


class LeftOut(Struct, frozen=True):
    """A line that was read and that neither the plan nor a change has."""

    file: str
    line: int
    text: str
    reason: str


class Adaptation(Struct, frozen=True):
    """The project, the plan that works here, the least changes that lead there; `files` as they become.

    `left_out` are the lines that count nowhere; those that were not understood are among the warnings alone.
    """

    project: Project
    plan: Plan
    changes: tuple[RequirementChange, ...]
    files: tuple[DependencyFile, ...]
    left_out: tuple[LeftOut, ...] = ()
