"""What decisions look up in requirements over and over, computed once for each tuple of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.model.wheel import Platform
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.markers import marker_environment


class RequirementIndex:
    """Requirements by the names of their projects."""

    def __init__(self, requirements: tuple[Requirement, ...]) -> None:
        self.names = tuple(canonicalize_name(requirement.name) for requirement in requirements)
        alike: defaultdict[str, list[Requirement]] = defaultdict(list)
        for name, requirement in zip(self.names, requirements, strict=True):
            alike[name].append(requirement)
        self.of: Mapping[str, tuple[Requirement, ...]] = {name: tuple(items) for name, items in alike.items()}
        self._requirements = requirements
        self._specifiers: dict[str, SpecifierSet] = {}
        self._without: dict[tuple[str, ...], tuple[Requirement, ...]] = {}
        self._counting: dict[tuple[Platform, str], Mapping[str, SpecifierSet]] = {}

    def specifier(self, project: str) -> SpecifierSet:
        """All that is asked of a project, joined; markers do not count."""
        if project not in self._specifiers:
            self._specifiers[project] = _joined(self.of.get(project, ()))
        return self._specifiers[project]

    def without(self, projects: tuple[str, ...]) -> tuple[Requirement, ...]:
        """The requirements on other projects, the same tuple every time."""
        if projects not in self._without:
            named = zip(self.names, self._requirements, strict=True)
            self._without[projects] = tuple(item for name, item in named if name not in projects)
        return self._without[projects]

    def specifiers(self, platform: Platform, python: str) -> Mapping[str, SpecifierSet]:
        """What is asked of each project on a platform with a Python (MAJOR.MINOR.PATCH), as one mapping."""
        key = platform, python
        if key not in self._counting:
            environment = marker_environment(platform, python)
            counting = {
                name: tuple(item for item in items if _counts(item, environment))
                for name, items in self.of.items()
            }
            self._counting[key] = {name: _joined(items) for name, items in counting.items() if items}
        return self._counting[key]


def _counts(requirement: Requirement, environment: dict[str, str]) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(environment)


def _joined(requirements: tuple[Requirement, ...]) -> SpecifierSet:
    wanted = SpecifierSet()
    for requirement in requirements:
        wanted &= requirement.specifier
    return wanted


index_of: ByIdentity[tuple[Requirement, ...], RequirementIndex] = ByIdentity(RequirementIndex)
