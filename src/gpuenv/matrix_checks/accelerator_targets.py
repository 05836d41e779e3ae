"""Which wheels of torch for ROCm, XPU and macOS a refresh reads: one of each build that has no row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.requirements import Requirement
from packaging.version import Version

from gpuenv.matrix_checks.keys import Row
from gpuenv.matrix_checks.refresh_targets import (
    TORCH,
    WheelTarget,
    is_read_from,
    is_wanted,
    platform_of,
    target_of,
)
from gpuenv.model.index import Listing
from gpuenv.model.wheel import CUDA_PLATFORMS, Platform, WheelFile

_KINDS = ("rocm", "xpu")


def find_accelerator_targets(
    listings: Iterable[Listing], only: Sequence[Requirement], known: Iterable[Row], *, reread: bool
) -> tuple[WheelTarget, ...]:
    """Return what is to be read of these listings, newest release first.

    `known` are rows of accelerator-builds.json. Wheels for macOS differ by the macOS that their tags ask for.
    """
    groups: dict[tuple[str, ...], dict[str, WheelFile]] = {}
    for listing in listings:
        for file in listing.files:
            platform = _platform(file)
            if platform is not None:
                groups.setdefault(_group(file, platform), {}).setdefault(file.filename, file)
    found = [_target(tuple(files.values())) for files in groups.values()]
    sources = {_key_of_row(row): str(row["source"]) for row in known}
    fresh = [
        target
        for target in found
        if is_wanted(target, only) and _is_unread(target, sources.get(_key(target)), reread=reread)
    ]
    return tuple(sorted(fresh, key=lambda target: (target.version, target.label), reverse=True))


def is_for_accelerator(target: WheelTarget) -> bool:
    """Whether a wheel of torch is for ROCm, XPU or macOS."""
    other = target.platform not in CUDA_PLATFORMS
    return target.project == TORCH and (
        other or (target.variant is not None and target.variant.kind in _KINDS)
    )


def _platform(file: WheelFile) -> Platform | None:
    """Return the platform of a wheel of torch for another accelerator; None for all others."""
    if str(file.name) != TORCH or file.version.is_prerelease:
        return None
    platform = platform_of(file)
    if file.variant is None:
        return None if platform in CUDA_PLATFORMS else platform
    return platform if file.variant.kind in _KINDS else None


def _tag(filename: str) -> str:
    return filename.removesuffix(".whl").rpartition("-")[2]


def _group(file: WheelFile, platform: Platform) -> tuple[str, ...]:
    tag = "" if platform in CUDA_PLATFORMS else _tag(file.filename)
    return file.version.public, str(file.variant or ""), platform, tag


def _target(files: tuple[WheelFile, ...]) -> WheelTarget:
    file = files[0]
    index = "pypi" if file.variant is None else "pytorch"
    return target_of((TORCH, Version(file.version.public), platform_of(file), index, file.variant), files)


def _is_unread(target: WheelTarget, source: str | None, *, reread: bool) -> bool:
    return source is None or (reread and not is_read_from(source, target.file))


def _key(target: WheelTarget) -> tuple[str, ...]:
    if target.variant is None:
        return str(target.version), target.platform, *target.tags
    return str(target.version), target.platform, str(target.variant)


def _key_of_row(row: Row) -> tuple[str, ...]:
    if row["platform"] not in CUDA_PLATFORMS:
        return row["torch"], row["platform"], *row["tags"]
    return row["torch"], row["platform"], row["variant"]
