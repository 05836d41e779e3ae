"""Format `pylock.toml` (PEP 751): every file with its official address and its hash.

https://packaging.python.org/en/latest/specifications/pylock-toml/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.formats import toml
from gpuenv.formats.text import summary
from gpuenv.model.locked import Locked, LockedFile
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.target import platform_of

if TYPE_CHECKING:
    from packaging.pylock import Package, PackageSdist, PackageWheel

_VERSION = "1.0"
_MARKED = ("implementation_name", "sys_platform", "platform_machine")
OWN = "gpuenv"


def render_pylock(locked: Locked) -> str:
    """Return the lock; its `[tool.gpuenv]` is for `create --from-lock`, other tools pass over it."""
    from packaging.pylock import Pylock  # noqa: PLC0415 - only where a lock is written

    lock = Pylock(
        lock_version=Version(_VERSION),
        environments=[_environment(locked)],
        requires_python=SpecifierSet(f"=={locked.plan.python.rstrip('t')}.*"),
        created_by=OWN,
        packages=[_package(file) for file in sorted(locked.files, key=lambda file: file.name)],
        tool={OWN: own_table(locked)},
    )
    lock.validate()
    facts = dict(lock.to_dict())
    packages, tools = facts.pop("packages"), facts.pop("tool")
    parts = {
        **_with_tuples(facts),
        "packages": toml.tables(map(_with_tuples, packages)),
        "tool": toml.table({OWN: toml.table(tools[OWN])}, headless=True),
    }
    return toml.document(summary(locked.plan), parts)


def own_table(locked: Locked) -> dict[str, Any]:
    """Return what tells a lock's machine: for which variant and platform it is, and what torch needs.

    `driver` is the least driver, `architectures` are what torch has code for; a CPU build has neither.
    """
    known = {
        "variant": locked.plan.variant,
        "platform": platform_of(locked.plan.machines[0]),
        "driver": locked.driver,
        "architectures": locked.architectures,
    }
    return {name: value for name, value in known.items() if value}


def _environment(locked: Locked) -> Marker:
    facts = marker_environment(platform_of(locked.plan.machines[0]), f"{locked.plan.python.rstrip('t')}.0")
    return Marker(" and ".join(f"{name} == '{facts[name]}'" for name in _MARKED))


def _package(file: LockedFile) -> Package:
    from packaging.pylock import Package, PackageArchive, PackageSdist, PackageWheel  # noqa: PLC0415

    name, version = canonicalize_name(file.name), Version(file.version)
    if file.index is None:
        archive = PackageArchive(url=file.url, size=file.size, hashes={"sha256": file.sha256})
        return Package(name=name, version=version, archive=archive)
    kind: type[PackageWheel | PackageSdist] = PackageWheel if file.is_wheel else PackageSdist
    message = unquote(urlsplit(file.url).path.rpartition("/")[2])
    wheel = kind(
        name=file.filename if message != file.filename else None,
        url=file.url,
        size=file.size,
        hashes={"sha256": file.sha256},
    )
    index = file.index if file.index.startswith(("http://", "https://")) else None
    if isinstance(wheel, PackageWheel):
        return Package(name=name, version=version, index=index, wheels=[wheel])
    return Package(name=name, version=version, index=index, sdist=wheel)


def _with_tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
