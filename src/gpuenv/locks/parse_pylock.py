"""What a `pylock.toml` (PEP 751), whoever made it, says to install on one machine.

https://packaging.python.org/en/latest/specifications/pylock-toml/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote, urljoin, urlsplit

from msgspec import Struct
from packaging.markers import Environment
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_sdist_filename, parse_wheel_filename

from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.accelerator_facts import parse_release
from gpuenv.model.capability import parse_architecture
from gpuenv.model.locked import LockedFile
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import PLATFORMS, Platform
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.rules.python import full_version
from gpuenv.resolution.target import Target
from gpuenv.untrusted.bounds import check_wheel_name

if TYPE_CHECKING:
    from packaging.pylock import Package, Pylock

_OWN = "gpuenv"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SCHEMES = ("http", "https", "file")
_NO_WHEEL = re.compile(r"No wheel found.*? at packages\[(\d+)\]")
_NEWEST_GLIBC = 99  # stands for a glibc that is not known
_NEWEST_MACOS = (99, 0)
_BY_MAJOR = 11  # the macOS from which on tags have no minor release
_OLD_MANYLINUX = {
    "manylinux_2_17": "manylinux2014",
    "manylinux_2_12": "manylinux2010",
    "manylinux_2_5": "manylinux1",
}


class LockNeeds(Struct, frozen=True):
    """What a lock of gpuenv's own says of the machine it is for: see `render.pylock.own_table`."""

    variant: str | None = None
    platform: Platform | None = None
    architectures: tuple[str, ...] = ()


class UnfitError(ValueError):
    """A lock has not all files for a Python on a machine."""


def parse_lock(document: Mapping[str, Any]) -> Pylock:
    """Check a lock that was read as TOML; raise ValueError for what PEP 751 does not allow."""
    from packaging.pylock import Pylock, PylockUnsupportedVersionError, PylockValidationError  # noqa: PLC0415

    try:
        return Pylock.from_dict(document)
    except PylockUnsupportedVersionError:
        version = str(document.get("lock-version"))[:20]
        raise ValueError(tr("lock-version {version} is not known", version=version)) from None
    except PylockValidationError as error:
        raise ValueError(tr("it is not a valid lock: {error}", error=error)) from None


def needs_of(lock: Pylock) -> LockNeeds:
    """Return what `[tool.gpuenv]` says, as far as it can be understood; a lock of others has none."""
    own = (lock.tool or {}).get(_OWN)
    if not isinstance(own, Mapping):
        return LockNeeds()
    variant, platform, listed = own.get("variant"), own.get("platform"), own.get("architectures")
    return LockNeeds(
        variant if isinstance(variant, str) and Variant(variant).is_known else None,
        next((item for item in PLATFORMS if item == platform), None),
        tuple(item for item in listed if _is_architecture(item)) if isinstance(listed, list) else (),
    )


def _is_architecture(value: Any) -> bool:
    try:
        return bool(parse_architecture(value))
    except (ValueError, AttributeError):
        return False


def select_files(lock: Pylock, python: PythonOffer, target: Target, folder: str) -> tuple[LockedFile, ...]:
    """Return the files that a lock has for a Python on the target's machines, in the lock's order.

    `folder` is the URL of the lock's own folder, for relative paths. Raises UnfitError where it has not all,
    ValueError for what has no sha256 or is no file.
    """
    from packaging.pylock import PylockSelectError  # noqa: PLC0415

    facts = marker_environment(target.platform, str(full_version(python)))
    if lock.environments and not any(marker.evaluate(dict(facts)) for marker in lock.environments):
        raise UnfitError(tr("it is for {environments}", environments=" / ".join(map(str, lock.environments))))
    tags = compatible_with(python, target)
    try:
        return tuple(
            _file(package, source, folder)
            for package, source in lock.select(environment=cast("Environment", facts), tags=tags)
        )
    except PylockSelectError as error:
        raise UnfitError(_without_a_file(lock, str(error)) or str(error)) from None


def _without_a_file(lock: Pylock, text: str) -> str | None:
    """Say for what a package is there that has no fitting file; None where `text` is about something else.

    No wheel found matching the provided tags for package 'torch' at packages[3], and no sdist available ...
    """
    match = _NO_WHEEL.match(text)
    package = lock.packages[int(match[1])] if match else None
    if package is None or not package.wheels:
        return None
    names = (wheel.filename.removesuffix(".whl") for wheel in package.wheels)
    tags = dict.fromkeys("-".join(name.split("-")[-3:]) for name in names)
    return tr("`{name}` is available for {tags} only", name=package.name, tags=series(tags))


def compatible_with(python: PythonOffer, target: Target) -> tuple[Tag, ...]:
    """Return the tags that fit a Python on every machine of the target, the best first."""
    platforms, minor = tuple(_platforms(target)), python.minor
    interpreter = f"cp{minor[0]}{minor[1]}"
    return (
        *cpython_tags(minor, [python.tag], platforms),
        *compatible_tags(minor, interpreter, platforms),
    )


def _platforms(target: Target) -> Iterator[str]:
    system = target.machines[0].system
    if system.os == "windows":
        yield "win_amd64"
        return
    if system.os == "macos":
        yield from mac_platforms(_least_macos(target), "arm64" if system.arch == "aarch64" else system.arch)
        return
    if all(machine.system.libc != "musl" for machine in target.machines):
        glibc = min(_glibc(machine.system.libc_version) for machine in target.machines)
        for minor in range(glibc, 4, -1):
            name = f"manylinux_2_{minor}"
            yield f"{name}_{system.arch}"
            if name in _OLD_MANYLINUX:
                yield f"{_OLD_MANYLINUX[name]}_{system.arch}"
    yield f"linux_{system.arch}"


def _least_macos(target: Target) -> tuple[int, int]:
    """The macOS that all the machines have; one that is not known is new enough."""
    texts = (machine.system.macos for machine in target.machines)
    release = min((parse_release(text) for text in texts if text), default=_NEWEST_MACOS)
    return (release[0], 0) if release[0] >= _BY_MAJOR else (release[0], release[1])


def _glibc(version: str | None) -> int:
    """The minor version of a glibc, `2.31`."""
    parts = (version or "").split(".")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else _NEWEST_GLIBC


def _file(package: Package, source: Any, folder: str) -> LockedFile:
    from packaging.pylock import PackageArchive, PackageSdist, PackageWheel  # noqa: PLC0415

    if not isinstance(source, (PackageArchive, PackageSdist, PackageWheel)):
        raise ValueError(tr("`{name}` comes from version control or from a directory", name=package.name))
    url = _address(package, source.url, source.path, folder)
    message = None if isinstance(source, PackageArchive) else source.name
    filename = message or unquote(urlsplit(url).path.rpartition("/")[2])
    return LockedFile(
        name=str(package.name),
        version=str(package.version or _version(filename)),
        filename=filename,
        url=url,
        index=None if isinstance(source, PackageArchive) else package.index,
        sha256=_hash(package, source.hashes),
        size=source.size,
    )


def _address(package: Package, url: str | None, path: str | None, folder: str) -> str:
    """Return where a file lies; a relative path starts at the lock."""
    text = url or urljoin(folder, quote((path or "").replace("\\", "/"), safe="/:"))
    plain = text.isprintable() and not any(letter.isspace() for letter in text)
    if not plain or urlsplit(text).scheme.lower() not in _SCHEMES:
        raise ValueError(tr("`{name}` has no valid URL: {url}", name=package.name, url=repr(text)))
    return text


def _hash(package: Package, hashes: Mapping[str, Any]) -> str:
    digest = str(hashes.get("sha256", "")).lower()
    if not _SHA256.fullmatch(digest):
        raise ValueError(tr("`{name}` has no sha256", name=package.name))
    return digest


def _version(filename: str) -> str:
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(check_wheel_name(filename))[1])
        return str(parse_sdist_filename(filename)[1])
    except ValueError:
        raise ValueError(tr("`{file}` has no version", file=filename)) from None
