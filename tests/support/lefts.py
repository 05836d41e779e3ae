"""What was left, in short form, and the question of it in memory."""

from __future__ import annotations

from functools import cache
from typing import Any

from deciding import Asked as Asking
from msgspec.structs import replace

from gpuenv.adapt.model import (
    DeclaredRequirement,
    DependencyFile,
    FileKind,
    Notation,
    Project,
    RequirementChange,
)
from gpuenv.adapt.nearest.line_changes import stack_changes
from gpuenv.adapt.nearest.request import request_of
from gpuenv.adapt.nearest.search import Nearest, find_nearest
from gpuenv.model.machine import Machine
from gpuenv.resolution.resolve import ResolutionInput


def left(*lines: str, kind: FileKind = "requirements", notation: Notation = "pip") -> Project:
    """Make what one file asks for: `torch==1.7.1`, `python 3.7`, `cuda 10.2`, `index https://…`.

    A line that begins with `README ` is what a README says; one with `constraint ` stands in a `-c` file.
    """
    declarations = tuple(_asked(number, line, notation) for number, line in enumerate(lines, start=1))
    return Project((DependencyFile("requirements.txt", kind, "\n".join(lines)),), declarations)


def _asked(number: int, line: str, notation: Notation) -> DeclaredRequirement:
    hint, line = line.startswith("README "), line.removeprefix("README ")
    constraint, line = line.startswith("constraint "), line.removeprefix("constraint ")
    word, _, rest = line.partition(" ")
    named = word in ("python", "cuda", "index")
    project = word if named else _name(line)
    file = "README.md" if hint else "requirements.txt"
    return DeclaredRequirement(
        project, rest if named else line, file, number, number * 100, number * 100 + len(line), line,
        notation, hint, constraint,
    )  # fmt: skip


def _name(line: str) -> str:
    for position, letter in enumerate(line):
        if not (letter.isalnum() or letter in "-_."):
            return line[:position]
    return line


def question_of(project: Project, machine: Machine, **wishes: Any) -> ResolutionInput:
    """Put the question of what was left, to one machine."""
    asking = Asking((machine,), **wishes)
    return replace(_published_for(asking), request=request_of(project, asking.request()))


@cache
def _published_for(asking: Asking) -> ResolutionInput:
    """All that does not hang on what was left."""
    return asking.question()


def adapted(
    project: Project, machine: Machine, **wishes: Any
) -> tuple[Nearest, tuple[RequirementChange, ...]]:
    """Return the nearest sets and the changes that the first of them takes."""
    nearest = find_nearest(question_of(project, machine, **wishes), project)
    return nearest, stack_changes(nearest, nearest.choices[0], project)


def with_changes(project: Project, changes: tuple[RequirementChange, ...]) -> Project:
    """Return what was left with the changes made, as the files would be read again."""
    changed = {id(change.declared): change for change in changes if change.declared is not None}
    kept = [
        _changed(declared, changed[id(declared)]) if id(declared) in changed else declared
        for declared in project.declared
        if id(declared) not in changed or changed[id(declared)].new is not None
    ]
    added = [
        _added(number, change) for number, change in enumerate(changes, start=90) if change.declared is None
    ]
    return replace(project, declared=(*kept, *added))


def _changed(line: DeclaredRequirement, change: RequirementChange) -> DeclaredRequirement:
    new = change.new or ""
    text = _address(new) if line.project == "index" else new
    return replace(line, requirement=text, text=new, notation="pip" if change.pip else line.notation)


def _added(number: int, change: RequirementChange) -> DeclaredRequirement:
    new = change.new or ""
    text = _address(new) if change.project == "index" else new
    return DeclaredRequirement(
        change.project, text, "requirements.txt", number, number * 100, number * 100 + 1, new
    )


def _address(option: str) -> str:
    return option.rpartition(" ")[2]
