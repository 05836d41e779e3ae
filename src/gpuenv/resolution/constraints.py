"""The constraints of a plan: what keeps known-bad combinations out of the packages that will be there."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.knowledge.records import KnownBad
from gpuenv.resolution.candidate import IndexedFile
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import known_bad

Constraint = tuple[str, KnownBad]

# What a package brings along, so that a constraint on it matters though nobody asked for it; read from the
# metadata of the wheels: torch before 1.9 requires numpy, the CUDA 11 libraries from PyPI require setuptools.
_BROUGHT = (
    ("torch", SpecifierSet("<1.9"), "numpy"),
    ("torch", SpecifierSet(">=1.13,<2.1"), "setuptools"),
    ("torchvision", SpecifierSet(), "numpy"),
    ("torchvision", SpecifierSet(), "pillow"),
    ("torchtext", SpecifierSet(), "numpy"),
)
_BY_CONDA = "mkl"
_BY_PYPI_ALONE = "setuptools"
_BROUGHT_BY_OTHERS = "numpy"  # by half of all that goes with torch


def constraints_of(question: ResolutionInput, solution: Solution) -> tuple[Constraint, ...]:
    """Return the workarounds of known-bad combinations that concern what will be installed."""
    names = {str(item.file.name) for item in solution.files}
    names |= {name for item in solution.files for name in _brought_by(item, solution)}
    names |= {canonicalize_name(item.name) for item in question.request.others}
    if question.request.others:
        names.add(_BROUGHT_BY_OTHERS)
    if solution.candidate.kind == "conda":
        names.add(_BY_CONDA)
    return _tightest(known_bad.constraints(solution.known_bad, frozenset(names)))


def _brought_by(item: IndexedFile, solution: Solution) -> list[str]:
    return [
        brought
        for project, releases, brought in _BROUGHT
        if project == item.file.name
        and releases.contains(item.release, prereleases=True)
        and (solution.candidate.kind == "pypi" or brought != _BY_PYPI_ALONE)
    ]


def _tightest(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Return each constraint once; of upper bounds on one package (`setuptools<82`, `<70`) the lowest."""
    kept: dict[str, tuple[Version | None, Constraint]] = {}
    for text, row in constraints:
        specifiers = list(Requirement(text).specifier)
        bound = Version(specifiers[0].version) if [item.operator for item in specifiers] == ["<"] else None
        name = Requirement(text).name if bound else text
        known = kept[name][0] if name in kept else None
        if name not in kept or (bound and known and bound < known):
            kept[name] = (bound, (text, row))
    return tuple(constraint for _, constraint in kept.values())
