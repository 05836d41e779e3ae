"""Wheels of one library for each CUDA major: `cupy-cuda12x`, `cupy-cuda13x`, `jax[cuda12]`, `tensorrt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.knowledge.records import Row, from_row
from gpuenv.knowledge.version_ranges import lies_apart, named_versions

Clash = Literal["files", "libraries", "requires"]
CLASHES: tuple[Clash, ...] = get_args(Clash)
_NEWEST = Version("99999")  # stands for the newest release, whichever that is


class FamilyMember(Struct, frozen=True):
    """Releases of a project, or of it with an extra, that are for one CUDA major.

    `clash` is why it must be torch's CUDA major: its CUDA libraries are files that torch's have too, it loads
    those that torch brings, or both require a package of their own CUDA. None: any will do.
    """

    family: str
    project: str
    extra: str | None
    cuda: int
    versions: SpecifierSet
    clash: Clash | None
    source: str

    @property
    def label(self) -> str:
        """What is asked for: `cupy-cuda12x`, `jax[cuda12]`."""
        return f"{self.project}[{self.extra}]" if self.extra else self.project


class Families:
    """The members, by project and by family."""

    def __init__(self, rows: Sequence[Row]) -> None:
        by_project: dict[str, list[FamilyMember]] = {}
        by_family: dict[str, list[FamilyMember]] = {}
        for row in rows:
            member = from_row(FamilyMember, row, versions=SpecifierSet(row["versions"] or ""))
            by_project.setdefault(member.project, []).append(member)
            by_family.setdefault(member.family, []).append(member)
        self.projects = frozenset(by_project)
        self._by_project: Mapping[str, list[FamilyMember]] = by_project
        self._by_family: Mapping[str, list[FamilyMember]] = by_family

    def asked_for(self, requirement: Requirement) -> tuple[FamilyMember, ...]:
        """Return the members that a requirement admits; none where it is about no family."""
        members = self._by_project.get(canonicalize_name(requirement.name), ())
        extras = set(map(canonicalize_name, requirement.extras))
        return tuple(
            member
            for member in members
            if (member.extra is None or member.extra in extras)
            and not lies_apart(requirement.specifier, member.versions)
        )

    def is_for_several(self, project: str) -> bool:
        """Whether releases of a project, without extras, are for several CUDA majors."""
        members = self._by_project.get(project, ())
        return len({member.cuda for member in members if member.extra is None}) > 1

    def siblings(self, member: FamilyMember) -> tuple[FamilyMember, ...]:
        """Return all members of a member's family: the newest CUDA first, then the newest releases."""
        return tuple(sorted(self._by_family[member.family], key=_newest, reverse=True))


def _newest(member: FamilyMember) -> tuple[int, Version, int]:
    """Of two that are alike the name that tells its CUDA goes first."""
    is_open = member.versions.contains(_NEWEST)
    last = _NEWEST if is_open else max(named_versions(member.versions))
    return member.cuda, last, len(member.label)
