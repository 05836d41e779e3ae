"""Which installed packages require which others."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.model.installed import Installed
from gpuenv.model.wheel import Platform
from gpuenv.resolution.markers import marker_environment


def needs_of(package: Installed, platform: Platform, python: str) -> frozenset[str]:
    """Return the names that a distribution requires here; what an extra adds does not count."""
    variables = marker_environment(platform, python)
    parsed = (_parse(line) for line in package.requires)
    return frozenset(
        canonicalize_name(item.name)
        for item in parsed
        if item and (item.marker is None or item.marker.evaluate(variables))
    )


def _parse(line: str) -> Requirement | None:
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


Needs = dict[str, frozenset[str]]
"""The names that each installed distribution requires."""


def dependents(names: Iterable[str], needs: Needs) -> dict[str, tuple[str, ...]]:
    """Map each of `names` to what would stay and requires it."""
    going = set(names)
    requiring = {
        name: tuple(sorted(other for other, wants in needs.items() if name in wants and other not in going))
        for name in going
    }
    return {name: requiring[name] for name in sorted(requiring) if requiring[name]}


def unneeded_without(names: Iterable[str], needs: Needs, keep: Iterable[str]) -> tuple[str, ...]:
    """Return what was installed for `names` alone: nothing that stays requires it, and `keep` lacks it."""
    gone = set(names)
    free = (_below(gone, needs) & set(needs)) - gone - set(keep)
    while True:  # from the most that may go: packages that need each other go together
        needed = {wanted for name, wants in needs.items() if name not in gone | free for wanted in wants}
        if not free & needed:
            return tuple(sorted(free))
        free -= needed


def _below(names: set[str], needs: Needs) -> set[str]:
    """Return all that these require, directly or not."""
    seen: set[str] = set()
    left = list(names)
    while left:
        for wanted in needs.get(left.pop(), frozenset()):
            if wanted not in seen:
                seen.add(wanted)
                left.append(wanted)
    return seen
