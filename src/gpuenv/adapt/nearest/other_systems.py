"""The lines of an environment.yml that was exported on another system.

vc=14.3=h64f974e_17               serves Windows alone: it goes
numpy=1.26.0=py39hddb5d58_0       the build is that system's: the release stays
timm=0.9.7=pyhd8ed1ab_0           is for any system: it stays
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.specifiers import SpecifierSet

from gpuenv.adapt.model import DeclaredRequirement, RequirementChange, changed_line
from gpuenv.adapt.nearest.request import Wishes, requirement_of
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.built_releases import BuiltReleases, SystemPackage
from gpuenv.knowledge.records import DriverOs
from gpuenv.model.errors import Because
from gpuenv.model.match_spec import MatchSpec, parse_match_spec
from gpuenv.model.wheel import Platform
from gpuenv.resolution.request import STACK

_NAMES: Mapping[DriverOs, str] = {"linux": "Linux", "windows": "Windows"}
_NAME = re.compile(r"(?:[\w./:-]+::)?([\w.-]+)")
# a build names its system, or what it was built with there, by a hash; those for any system begin with `pyh`
_OF_SYSTEM = re.compile(r"(?:^|_)(?:py\d{2,3})?h[0-9a-f]{7}(?:_|$)|(?:^|_)(?:win|linux|osx)(?:64)?(?:_|$)")


def changed_from_other_system(
    wishes: Wishes, platform: Platform, built: BuiltReleases, changes: tuple[RequirementChange, ...]
) -> tuple[RequirementChange, ...]:
    """Return the changes with the removal of what serves another system alone, and without its builds.

    They are found by packages that are known to be of one system: without any the file is of none.
    """
    own: DriverOs = "windows" if platform == "win-64" else "linux"
    lines = [line for found in wishes.lines.values() for line in found if _is_spec(line)]
    foreign = {id(line): row for line in lines if (row := _foreign(line, own, built)) is not None}
    if not foreign:
        return changes
    taken = {id(change.declared) for change in changes}
    system = _NAMES[next(iter(foreign.values())).system]
    result = [change for change in changes if id(change.declared) not in foreign]
    for line in lines:
        spec = parse_match_spec(line.text)
        if id(line) in foreign:
            text = tr("{package} serves {system} alone", package=spec.name, system=system)
            result.append(changed_line(line, None, Because(text, "matrix releases.json")))
        elif id(line) not in taken and _is_of_system(line, spec):
            because = Because(tr("the build was made for {system}", system=system), line.text.strip())
            result.append(changed_line(line, _without_build(line, spec), because))
    return tuple(result)


def _is_spec(line: DeclaredRequirement) -> bool:
    return line.notation == "conda" and line.project != "index"


def _foreign(line: DeclaredRequirement, own: DriverOs, built: BuiltReleases) -> SystemPackage | None:
    name = _NAME.match(line.text)
    row = built.system_of(name[1].lower()) if name else None
    return row if row is not None and row.system != own else None


def _is_of_system(line: DeclaredRequirement, spec: MatchSpec) -> bool:
    """Whether a build is of one system; those of torch name its CUDA and cuDNN, in each system's words."""
    if not spec.build or (line.project == "cuda" and line.requirement is None):
        return False
    return line.project in STACK or _OF_SYSTEM.search(spec.build) is not None


def _without_build(line: DeclaredRequirement, spec: MatchSpec) -> str | None:
    """Return what a line asks for without its build; None for a version that is conda's alone."""
    if line.project == "python":
        return spec.version
    if line.project == "cuda":
        return f"{spec.name}={spec.version}"
    requirement = requirement_of(line)
    if requirement is None:
        return None
    requirement.specifier = SpecifierSet(f"=={spec.release}.*") if spec.release else requirement.specifier
    return str(requirement)
