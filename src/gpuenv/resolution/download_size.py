"""What a plan brings: its files and what they depend on, how much is to fetch, how much it takes on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.knowledge.dependencies import Dependencies, WheelSize
from gpuenv.model.plan import Download, Plan, PlannedPackage
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, Platform
from gpuenv.resolution.target import platform_of

_REMOTE = ("http://", "https://")


class _Part(Struct, frozen=True):
    """One file; `sure` where an index or a server stated its size."""

    size: WheelSize
    local: bool = False
    sure: bool = False
    cached: bool = False


def estimate(
    plan: Plan,
    known: Dependencies,
    *,
    whole: bool = False,
    free: int | None = None,
    cached: frozenset[str] = frozenset(),
) -> Download:
    """Return what a plan of wheels brings, without asking anybody.

    Where no resolver ran (`whole`: one did), what the stack depends on is the matrix's, and not `exact`.
    `free` are the bytes free where the environment goes, `cached` names files that the installer has in its
    cache.
    """
    platform = platform_of(plan.machines[0])
    parts = [_planned(package, plan, known, platform, cached) for package in plan.packages]
    whole = whole or plan.is_whole
    required = None if whole else _required(plan, known, platform)
    parts += _depended_on(plan, known, platform, required or ())
    fetched = [part for part in parts if not (part.local or part.cached)]
    return Download(
        files=len(fetched),
        size=_total(part.size.packed for part in fetched),
        installed=_total(part.size.unpacked for part in parts),
        fresh=_total(part.size.unpacked for part in parts if not part.cached),
        local=sum(part.local for part in parts),
        cached=sum(part.cached for part in parts),
        free=free,
        exact=whole and all(part.sure for part in fetched),
        least=any(part.size.packed is None for part in fetched) or (required is None and not whole),
    )


def _total(sizes: Iterable[int | None]) -> int:
    return sum(size for size in sizes if size)


def _planned(
    package: PlannedPackage, plan: Plan, known: Dependencies, platform: Platform, cached: frozenset[str]
) -> _Part:
    local = bool(package.url) and not str(package.url).startswith(_REMOTE)
    version = Version(package.version) if package.version else None
    if package.name == "torch" and version is not None:
        size = known.torch_size(version, Variant(plan.variant), platform, _kind(version), package.size)
    else:
        wanted = SpecifierSet(f"=={version.public}") if version else SpecifierSet()
        size = known.size_of(package.name, wanted, platform, package.size)
        if package.size is None and version is not None and package.variant not in (None, "cpu"):
            size = WheelSize(None, None)  # a row of another variant's wheel says little
    in_cache = not local and package.filename in cached
    return _Part(size, local, sure=package.size is not None, cached=in_cache)


def _kind(version: Version) -> IndexKind:
    return "pytorch" if version.local else "pypi"


def _depended_on(
    plan: Plan, known: Dependencies, platform: Platform, required: tuple[str, ...]
) -> Iterator[_Part]:
    there = frozenset(str(canonicalize_name(package.name)) for package in plan.packages)
    for name, wanted in known.closure(required, platform, there).items():
        yield _Part(known.size_of(name, wanted, platform))


def _required(plan: Plan, known: Dependencies, platform: Platform) -> tuple[str, ...] | None:
    """Return what the stack asks for, and what is installed beside it; None where torch's is not known."""
    required = [*plan.requirements, *plan.constraints]
    for package in plan.packages:
        version = Version(package.version)
        if package.name != "torch":
            required += known.requires_of_file(package.name, version, platform)
            continue
        requested = known.requires_of(version, Variant(plan.variant), platform, _kind(version))
        if requested is None:
            return None
        required += requested
    return tuple(required)
