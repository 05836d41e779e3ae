"""Pins of other packages that no release for the Python, the torch or the CUDA of a choice meets.

By what is known without an index or a channel: releases.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement, RequirementChange, changed_line
from gpuenv.adapt.nearest.python_move import keeps_minor
from gpuenv.adapt.nearest.request import Wishes, requirement_of
from gpuenv.adapt.nearest.resolver_changes import moved_changes
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.built_releases import BoundPackage, BuiltReleases
from gpuenv.model.errors import Because
from gpuenv.model.match_spec import MatchSpec, parse_match_spec
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import STACK, admits

_SOURCE = "matrix releases.json"
_OF_TORCH = re.compile(r"(?:^|_)(?:py)?torch_?\d")
_EXACT = re.compile(r"(?P<name>[^=]+)==(?P<minor>\d+\.\d+)\.\d[^*]*")


def broken_pins(wishes: Wishes, python: PythonOffer, built: BuiltReleases) -> tuple[str, ...]:
    """Return the projects that are asked for in releases which are not built for a Python."""
    tag = python_tag_of(python)
    return tuple(
        project
        for project in wishes.lines
        if project in built.pythons and not built.is_built(project, wishes.of(project), tag)
    )


def move_of_pins(wishes: Wishes, python: PythonOffer, built: BuiltReleases) -> tuple[int, int]:
    """Return how many pins do not hold with a Python, and by how many releases they move in all."""
    broken, tag = broken_pins(wishes, python, built), python_tag_of(python)
    return len(broken), sum(built.distance(project, wishes.of(project), tag) for project in broken)


def python_tag_of(python: PythonOffer) -> str:
    """Return the tag of CPython for an offer, `cp39`."""
    return f"cp{python.short.replace('.', '')}"


def moved_with_python(
    solution: Solution,
    wishes: Wishes,
    changes: tuple[RequirementChange, ...],
    built: BuiltReleases,
    limits: Mapping[str, SpecifierSet],
) -> tuple[RequirementChange, ...]:
    """Return the changes with those of pins that do not hold with the chosen Python.

    Where that is the one asked for, they are the author's own affair; what another pin ties stays.

    A pin moves by as few releases as can be; `limits` are what is known to fail from some release on. Of
    conda's it becomes MAJOR.MINOR: PyPI's releases stand in for those of a channel, which may lack one.
    """
    python = solution.python
    if wishes.python is not None and keeps_minor(python, wishes.python):
        return changes
    changed = {change.project for change in changes}
    changed |= {project for project, by in built.tied if wishes.of(by)}
    for project in (item for item in broken_pins(wishes, python, built) if item not in changed):
        bounds = limits.get(project, SpecifierSet())
        release = built.nearest(project, wishes.of(project), python_tag_of(python), bounds)
        if release is not None:
            asked = str(wishes.of(project)).removeprefix("==").removesuffix(".*")
            facts = {"project": project, "release": asked, "python": python.short}
            because = Because(tr("{project} {release} is not built for Python {python}", **facts), _SOURCE)
            changes = tuple(map(_loosely, moved_changes(project, release, because, wishes, changes)))
    return changes


def without_needless(
    changes: tuple[RequirementChange, ...], python: PythonOffer, built: BuiltReleases
) -> tuple[RequirementChange, ...]:
    """Leave out the bounds that the Python keeps by itself: no numpy 2 is for Python 3.8."""
    return tuple(change for change in changes if not _is_needless(change, python, built))


def _is_needless(change: RequirementChange, python: PythonOffer, built: BuiltReleases) -> bool:
    if change.project not in built.pythons or change.new is None or change.pip:
        return False
    old = requirement_of(change.declared) if change.declared else None
    if change.declared is not None and old is None:
        return False
    before = old.specifier if old else SpecifierSet()
    return built.is_same(change.project, before, Requirement(change.new).specifier, python_tag_of(python))


def _loosely(change: RequirementChange) -> RequirementChange:
    """Return the change of a line of conda's to one release as that to any of its minor one."""
    exact = _EXACT.fullmatch(change.new or "")
    if exact is None or change.source != _SOURCE or not change.declared:
        return change
    if change.declared.notation != "conda":
        return change
    return replace(change, new=f"{exact['name']}=={exact['minor']}.*")


def moved_with_torch(
    solution: Solution, wishes: Wishes, changes: tuple[RequirementChange, ...], built: BuiltReleases
) -> tuple[RequirementChange, ...]:
    """Return the changes with those of conda's packages that go with another torch or another CUDA.

    A pin is lifted where the solver finds the release for the torch; what names another CUDA, or came with
    the other torch, goes.
    """
    candidate = solution.candidate
    taken = {id(change.declared) for change in changes}
    lines = [
        line
        for project, lines in wishes.lines.items()
        if project not in (*NO_PROJECTS, *STACK)
        for line in lines
        if line.notation == "conda" and id(line) not in taken
    ]
    for line in lines:
        spec = parse_match_spec(line.text)
        found = built.bound(spec.name) or _by_build(spec)
        change = _with_torch(line, found, candidate, wishes) if found else None
        changes = (*changes, change) if change else changes
    return changes


def _by_build(spec: MatchSpec) -> tuple[BoundPackage, re.Match[str]] | None:
    """Return how a package is bound whose build names its torch: `py38_torch_1.9.0_cu111`."""
    name = re.compile(re.escape(spec.name)).fullmatch(spec.name)
    return (BoundPackage(name.re, "torch", _SOURCE), name) if name and _OF_TORCH.search(spec.build) else None


def _with_torch(
    line: DeclaredRequirement,
    found: tuple[BoundPackage, re.Match[str]],
    candidate: Candidate,
    wishes: Wishes,
) -> RequirementChange | None:
    package, match = found
    torch_moves = not admits(wishes.of("torch"), candidate.torch)
    cuda_moves = wishes.variant is not None and wishes.variant != candidate.variant
    facts = {"package": match[0], "build": candidate.label}
    if package.bound == "cuda":
        if _names_cuda(match, candidate):
            return None
        return changed_line(
            line, None, Because(tr("{package} is for another CUDA than {build}", **facts), _SOURCE)
        )
    if package.bound == "included":
        text = tr("{package} comes with {build}, in its own release", **facts)
        return changed_line(line, None, Because(text, _SOURCE)) if torch_moves else None
    moves = cuda_moves or (torch_moves and package.bound == "torch")
    requirement = requirement_of(line)
    if not moves or requirement is None or not (requirement.specifier or "=" in line.text):
        return None
    requirement.specifier = SpecifierSet()
    if package.bound == "torch":
        text = tr("{package} is built for one torch: the solver takes the release for {build}", **facts)
    else:
        text = tr("{package} is built for one CUDA: the solver takes the release for {build}", **facts)
    return changed_line(line, str(requirement), Because(text, _SOURCE))


def _names_cuda(match: re.Match[str], candidate: Candidate) -> bool:
    """Whether the CUDA in a package's name is that of a build."""
    named = match.groupdict()
    cuda = str(candidate.cuda)
    return cuda == named["cuda"] if named.get("cuda") else cuda.replace(".", "") == named.get("digits")
