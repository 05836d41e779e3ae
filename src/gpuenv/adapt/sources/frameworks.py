"""Frameworks beside torch: projects that are made for one of them alone, or that share no Python with it."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from gpuenv.adapt.model import DeclaredRequirement
from gpuenv.adapt.nearest.request import public, requirement_of
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.ecosystem import Ecosystem, Framework
from gpuenv.knowledge.version_ranges import lies_within
from gpuenv.model.errors import Because, Fix, Unsatisfiable, UsageError
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.rules.python import admitted


def other_frameworks(
    declared: tuple[DeclaredRequirement, ...], ecosystem: Ecosystem
) -> Iterator[tuple[DeclaredRequirement, Framework]]:
    """Yield the lines that require another framework, each with the first row that it is about."""
    for item in declared:
        for row in ecosystem.frameworks:
            if fnmatchcase(item.project, row.pattern) and _is_meant(item, row):
                yield item, row
                break


def _is_meant(item: DeclaredRequirement, row: Framework) -> bool:
    requirement = requirement_of(item)
    if row.releases is None:
        return True
    return requirement is not None and lies_within(public(requirement.specifier), SpecifierSet(row.releases))


def names_torch(declared: tuple[DeclaredRequirement, ...], ecosystem: Ecosystem) -> bool:
    """Whether a line is about torch, or about a project that brings it."""
    return any(fnmatchcase(item.project, name) for item in declared for name in ecosystem.brings_torch)


def python_bounds(
    declared: tuple[DeclaredRequirement, ...], ecosystem: Ecosystem
) -> tuple[DeclaredRequirement, ...]:
    """Return the Pythons that other frameworks leave, as hints at their lines."""
    return tuple(
        replace(item, project="python", requirement=row.python, notation="pip", hint=True)
        for item, row in other_frameworks(declared, ecosystem)
        if row.python is not None
    )


def refuse_without_torch(declared: tuple[DeclaredRequirement, ...], ecosystem: Ecosystem) -> None:
    """Raise UsageError where another framework is required and nothing is about torch."""
    others = tuple(item for item, _ in other_frameworks(declared, ecosystem))
    if others and not names_torch(declared, ecosystem):
        raise UsageError(
            tr("nothing there asks for torch: it is made for another framework, which gpuenv does not plan"),
            code="no-torch",
            because=tuple(map(_place, others)),
            fixes=(Fix(tr("if torch is wanted too, add a line `torch` to the file")),),
        )


def refuse_unshared_python(
    declared: tuple[DeclaredRequirement, ...], python: PythonOffer, torch: str, ecosystem: Ecosystem
) -> None:
    """Raise Unsatisfiable where a framework has no files for the Python that torch takes."""
    for item, row in other_frameworks(declared, ecosystem):
        if row.python is not None and not admitted((python,), SpecifierSet(row.python)):
            facts = {"text": item.text.strip(), "bound": row.python, "torch": torch, "python": python.short}
            text = tr(
                "`{text}` has files for Python {bound} only; torch {torch}, the nearest that works here, "
                "comes with Python {python}",
                **facts,
            )
            raise Unsatisfiable(
                tr("`{text}` and torch cannot share an environment here", text=item.text.strip()),
                code="no-shared-python",
                because=(_place(item), Because(text, row.source)),
                fixes=(Fix(tr("remove its line, or keep it in an environment of its own")),),
            )


def _place(item: DeclaredRequirement) -> Because:
    place = f"{item.file}:{item.line}"
    return Because(tr("{place} requires `{text}`", place=place, text=item.text.strip()), item.file)
