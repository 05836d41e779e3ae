"""The lines of other packages that change because a resolver could not have them as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement, RequirementChange, changed_line
from gpuenv.adapt.nearest.request import Wishes, public, requirement_of
from gpuenv.i18n.messages import clauses, series, tr
from gpuenv.model.errors import Because
from gpuenv.resolution.request import STACK, admits

_NO_WHEEL = re.compile(r"has no (?:usable wheels|wheels with a matching)")
_OTHER_PYTHON = re.compile(r"does not satisfy Python")
_NO_VERSION = re.compile(r"there (?:is|are) no versions? of ")
_LONGEST = 240  # characters of the resolver's own words


def moved_changes(
    project: str, version: Version, because: Because, wishes: Wishes, result: tuple[RequirementChange, ...]
) -> tuple[RequirementChange, ...]:
    """Return the changes with those of a project's lines that do not admit the version it must have.

    A line that changes already gets the version instead; one reason is enough.
    """
    reported = {id(change.declared): change for change in result}
    changes = list(result)
    for line in wishes.lines.get(project, ()):
        requirement = requirement_of(line)
        if requirement is None or requirement.url or admits(requirement.specifier, version):
            continue
        requirement.specifier = widened(requirement.specifier, version)
        known = reported.get(id(line))
        if known is not None:
            changes[changes.index(known)] = replace(known, new=str(requirement))
        else:
            changes.append(changed_line(line, str(requirement), because))
    return tuple(_with_release(change, project, version) for change in changes)


def _with_release(change: RequirementChange, project: str, version: Version) -> RequirementChange:
    """Return the change of a line to another project with the release that this one must have."""
    if change.new is None or change.project in (project, *NO_PROJECTS) or " @ " in change.new:
        return change
    requirement = Requirement(change.new.partition(" --hash")[0])
    if canonicalize_name(requirement.name) != project or admits(requirement.specifier, version):
        return change
    requirement.specifier = widened(requirement.specifier, version)
    return replace(change, new=str(requirement))


def removed_changes(
    project: str, because: Because, wishes: Wishes, changes: tuple[RequirementChange, ...]
) -> tuple[RequirementChange, ...]:
    """Return the changes with the removal of a project's lines."""
    lines = wishes.lines.get(project, ())
    there = {id(change.declared) for change in changes}
    return (*changes, *(changed_line(line, None, because) for line in lines if id(line) not in there))


def freed_of_builds(
    wishes: Wishes, python: str, result: tuple[RequirementChange, ...], limits: Mapping[str, SpecifierSet]
) -> tuple[RequirementChange, ...]:
    """Return the changes with those of conda's lines that name a build of another Python, or one beside it.

        numpy=1.19.2=py37h54aff64_0
        libffi=3.3=he6710b0_2

    An export names what was solved for its one Python: for another one the releases are the least. `limits`
    are what is known to fail from some release on.
    """
    changed = {id(change.declared) for change in result}
    exported = [declared for lines in wishes.lines.values() for declared in lines if _has_build(declared)]
    wanted = f"py{python.replace('.', '')}"
    tags = (_python_of_build(declared) for declared in exported)
    foreign = sorted({f"{tag[2]}.{tag[3:]}" for tag in tags if tag not in (None, wanted)})
    if not foreign:
        return result
    text = tr("it was solved for Python {version}", version=series(foreign))
    changes = list(result)
    for line in exported:
        requirement = requirement_of(line)
        if id(line) not in changed and requirement is not None and _python_of_build(line) != wanted:
            requirement.specifier = least_of(requirement.specifier) & limits.get(line.project, SpecifierSet())
            changes.append(changed_line(line, str(requirement), Because(text, line.text.strip())))
    return tuple(changes)


def least_of(specifiers: SpecifierSet) -> SpecifierSet:
    """Return exact releases as the least ones, without local versions: `==1.3.2+ecbda83` as `>=1.3.2`."""
    clauses = (
        f">={item.version.removesuffix('.*')}" if item.operator == "==" else str(item)
        for item in public(specifiers)
        if item.operator != "==="  # what follows may be anything
    )
    return SpecifierSet(",".join(clauses))


_PYTHON_BUILD = re.compile(r"=(?:[^=\s]*_)?(py\d{2,3})(?:h[0-9a-f]{7}|_|$)")
_WITH_BUILD = 2  # equals signs of `name=version=build`


def _has_build(line: DeclaredRequirement) -> bool:
    named = line.notation == "conda" and line.project not in (*NO_PROJECTS, *STACK)
    return named and line.text.replace("==", "=").count("=") >= _WITH_BUILD


def _python_of_build(line: DeclaredRequirement) -> str | None:
    match = _PYTHON_BUILD.search(line.text.strip())
    return match[1] if match else None


def widened(specifiers: SpecifierSet, version: Version) -> SpecifierSet:
    """Return the least wider specifier that admits a version: a pin moves, a range reaches as far as it."""
    bounds = (item for item in specifiers if item.operator in (">", ">="))
    lower = [item for item in bounds if admits(SpecifierSet(str(item)), version)]
    upper = [item for item in specifiers if item.operator in ("<", "<=")]
    if lower and upper and len(specifiers) == len(lower) + len(upper):
        return SpecifierSet(",".join([*map(str, lower), f"<={version.public}"]))
    return SpecifierSet(f"=={version}")


def why_moved(project: str, old: str, message: str, demands: Iterable[str], python: str) -> str:
    """Return why a project can't stay as it was asked for, from uv's words about it put back alone."""
    name = f"{project} {old}".strip()
    named = re.compile(rf"(?<![\w.-]){re.escape(project)}(?![\w-])")
    about = list(filter(named.search, re.split(r",? (?:and|we can conclude that) |\. ", message)))
    if any(map(_NO_WHEEL.search, about)):
        return tr("{package} has no wheel for Python {python}", package=name, python=python)
    if _OTHER_PYTHON.search(message) and any(f"{project}==" in item and "Python" in item for item in about):
        return tr("{package} does not support Python {python}", package=name, python=python)
    if any(map(_NO_VERSION.search, about)):
        return tr("{package} is not on the index", package=name)
    text = clauses(dict.fromkeys(demands))
    return text or message[:_LONGEST]
