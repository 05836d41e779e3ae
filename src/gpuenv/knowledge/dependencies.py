"""What builds of torch depend on, and how large wheels are: the rows of dependencies.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, Platform

Row = Mapping[str, Any]
ANY = "any"
# the median of 60 wheels beside torch and NVIDIA's libraries (2026-11-22)
_UNPACKED = 3.3


class WheelSize(Struct, frozen=True):
    """The bytes of a wheel: `packed` to fetch, `unpacked` on disk; None where nobody tells."""

    packed: int | None
    unpacked: int | None


class Dependencies(Struct, frozen=True, eq=False, dict=True):
    """The table; rows are looked at one by one, when they are asked for."""

    rows: tuple[Row, ...]

    def requires_of(
        self, torch: Version, variant: Variant, platform: Platform, index: IndexKind
    ) -> tuple[str, ...] | None:
        """Return what a build of torch asks for on a platform; None where that is not known."""
        row = self._build(torch, variant, platform, index)
        return tuple(row["requires"]) if row else None

    def pinned_releases(self, project: str) -> tuple[Version, ...]:
        """Return the releases of a project that builds of torch pin, or of whose minor they take patches."""
        return self._pinned.get(project, ())

    def requires_of_file(self, project: str, version: Version, platform: Platform) -> tuple[str, ...]:
        """Return what a wheel asks for, or the newest known of its project."""
        row = self._file(project, SpecifierSet(f"=={version.public}"), platform)
        return tuple(row["requires"]) if row else ()

    def torch_size(
        self, torch: Version, variant: Variant, platform: Platform, index: IndexKind, packed: int | None
    ) -> WheelSize:
        """Return the size of a build of torch; where its wheel was not read, as its like unpack."""
        row = self._build(torch, variant, platform, index)
        if row and row["size"] and row["installed"]:
            return _scaled(row, packed)
        like = self._like(torch, variant, platform)
        unpacked = round(packed * like["installed"] / like["size"]) if like and packed else None
        return WheelSize(packed, unpacked)

    def size_of(
        self, project: str, wanted: SpecifierSet, platform: Platform, packed: int | None = None
    ) -> WheelSize:
        """Return the size of the newest wheel that is wanted."""
        row = self._file(project, wanted, platform)
        if row is None:
            return WheelSize(packed, round(packed * _UNPACKED) if packed else None)
        return _scaled(row, packed)

    def closure(
        self, requires: Iterable[str], platform: Platform, without: frozenset[str]
    ) -> dict[str, SpecifierSet]:
        """Return all that requirements bring, with what is asked of each; `without` is there already."""
        wanted: dict[str, SpecifierSet] = {}
        waiting = list(requires)
        while waiting:
            requirement = _parse(waiting.pop(0))
            name = canonicalize_name(requirement.name) if requirement else ""
            if requirement is None or name in without:
                continue
            known = wanted.get(name)
            wanted[name] = requirement.specifier if known is None else known & requirement.specifier
            if known is None:
                row = self._file(name, requirement.specifier, platform)
                waiting += row["requires"] if row else ()
        return wanted

    def _build(self, torch: Version, variant: Variant, platform: Platform, index: IndexKind) -> Row | None:
        key = (torch.public, str(variant), platform)
        own = self._builds.get((*key, index))
        return own or self._builds.get((*key, "pytorch" if index == "pypi" else "pypi"))

    def _like(self, torch: Version, variant: Variant, platform: Platform) -> Row | None:
        """Return the row of the nearest release that has, or has not, CUDA beside it as this build does."""
        asks = bool(_cuda_of(self._build(torch, variant, platform, "pytorch")))
        rows = [
            row
            for row in self._builds.values()
            if row["size"] and row["installed"] and bool(_cuda_of(row)) is asks
            and (row["variant"] == "cpu") is variant.is_cpu
        ]  # fmt: skip
        return min(rows, key=lambda row: _distance(Version(row["torch"]), torch), default=None)

    def _file(self, project: str, wanted: SpecifierSet, platform: Platform) -> Row | None:
        """Return the newest row that is wanted, else the newest there is."""
        rows = [row for row in self._files.get(project, ()) if row["platform"] in (platform, ANY)]
        fitting = [row for row in rows if wanted.contains(row["version"], prereleases=True)]
        return max(fitting or rows, key=lambda row: Version(row["version"]), default=None)

    @cached_property
    def _builds(self) -> dict[tuple[str, ...], Row]:
        return {
            (row["torch"], row["variant"], row["platform"], row["index"]): row
            for row in self.rows
            if row["kind"] == "build"
        }

    @cached_property
    def _pinned(self) -> dict[str, tuple[Version, ...]]:
        texts = {text for row in self._builds.values() for text in row["requires"]}
        releases: dict[str, set[Version]] = {}
        for requirement in filter(None, map(_parse, texts)):
            for item in requirement.specifier:
                if item.operator in ("==", "~=") and not item.version.endswith("*"):
                    name = canonicalize_name(requirement.name)
                    releases.setdefault(name, set()).add(Version(item.version))
        return {name: tuple(sorted(versions)) for name, versions in releases.items()}

    @cached_property
    def _files(self) -> dict[str, list[Row]]:
        files: dict[str, list[Row]] = {}
        for row in self.rows:
            if row["kind"] == "file":
                files.setdefault(row["project"], []).append(row)
        return files


def is_cuda_library(requirement: str) -> bool:
    """Whether a requirement of torch is one that builds for the CPU do without."""
    return requirement.startswith(("nvidia-", "cuda-", "triton"))


def _cuda_of(row: Row | None) -> tuple[str, ...]:
    return tuple(filter(is_cuda_library, row["requires"])) if row else ()


def _scaled(row: Row, packed: int | None) -> WheelSize:
    """Return the size of a row, brought to that of the very file where that is known."""
    size, installed = row["size"], row["installed"]
    if packed and size and installed:
        return WheelSize(packed, round(packed * installed / size))
    return WheelSize(packed or size, installed)


def _distance(version: Version, wanted: Version) -> tuple[int, ...]:
    pairs = zip((*version.release, 0, 0), (*wanted.release, 0, 0), strict=False)
    return tuple(abs(number - other) for number, other in list(pairs)[:3])


def _parse(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None
