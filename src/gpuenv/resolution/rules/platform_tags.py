"""Rule `platform`: the wheel's platform tag fits the system.

Tags: https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from gpuenv.i18n.messages import N_, tr
from gpuenv.model.machine import Machine, System
from gpuenv.model.wheel import WheelFile
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.rules.phrases import range_of_releases
from gpuenv.resolution.target import Target

_MACOS = re.compile(r"macosx_(\d+)_(\d+)_")
_MACOS_ENDINGS = {  # of tags that a machine takes
    "aarch64": ("_arm64", "_universal2"),
    "arm64": ("_arm64", "_universal2"),
    "x86_64": ("_x86_64", "_universal2", "_intel"),
}
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_(\w+)")
# PEP 513, 571 and 599: the glibc behind the old names
_LEGACY = {
    "manylinux1_": "manylinux_2_5_",
    "manylinux2010_": "manylinux_2_12_",
    "manylinux2014_": "manylinux_2_17_",
}


def fits(file: WheelFile, target: Target) -> bool:
    """Whether one of the file's tags fits every machine."""
    return _all_fit(file.tags, target)


def fits_name(filename: str, target: Target) -> bool:
    """Whether a file of that name fits every machine; what is not a wheel is built there."""
    if not filename.endswith(".whl"):
        return True
    try:
        return _all_fit(parse_wheel_filename(filename)[3], target)
    except InvalidWheelFilename:
        return True  # uv reads names that are not to the letter


def _all_fit(tags: frozenset[Tag], target: Target) -> bool:
    return all(_any_fits(tags, system) for system in _systems(target))


_systems: ByIdentity[Target, tuple[System, ...]] = ByIdentity(
    lambda target: tuple(dict.fromkeys(machine.system for machine in target.machines))
)


@cache
def _any_fits(tags: frozenset[Tag], system: System) -> bool:
    """The same few tags stand on hundreds of files."""
    return any(_fits_system(tag.platform, system) for tag in tags)


def fitting(indexed_files: tuple[IndexedFile, ...], target: Target) -> tuple[IndexedFile, ...]:
    """Return the files that fit every machine."""
    return _fitting(indexed_files)(_systems(target))


def _by_systems(
    indexed_files: tuple[IndexedFile, ...],
) -> Callable[[tuple[System, ...]], tuple[IndexedFile, ...]]:
    return cache(
        lambda systems: tuple(
            item for item in indexed_files if all(_any_fits(item.file.tags, system) for system in systems)
        )
    )


_fitting: ByIdentity[tuple[IndexedFile, ...], Callable[[tuple[System, ...]], tuple[IndexedFile, ...]]]
_fitting = ByIdentity(_by_systems, most=4096)  # builds


def for_platform(file: WheelFile, target: Target) -> bool:
    """Whether the file is for the system and architecture, whatever its glibc."""
    return _any_of_family(file.tags, target.machines[0].system)


@cache
def _any_of_family(tags: frozenset[Tag], system: System) -> bool:
    return any(_of_family(tag.platform, system) for tag in tags)


def named_for_platform(filename: str, target: Target) -> bool:
    """Whether a wheel's file name says that it is for the system and architecture, whatever its glibc."""
    system = target.machines[0].system
    _, _, tags = filename.removesuffix(".whl").rpartition("-")
    return any(_of_family(tag, system) for tag in tags.split("."))


def least_glibc(tag: str) -> tuple[int, int] | None:
    """Return the glibc that a manylinux tag needs, None for other tags."""
    for old, new in _LEGACY.items():
        if tag.startswith(old):
            tag = new + tag.removeprefix(old)
    match = _MANYLINUX.fullmatch(tag)
    return (int(match[1]), int(match[2])) if match else None


def least_macos(tag: str) -> tuple[int, int] | None:
    """Return the macOS that a tag needs, None for other tags."""
    match = _MACOS.match(tag)
    return (int(match[1]), int(match[2])) if match else None


def _of_family(tag: str, system: System) -> bool:
    if tag == "any":
        return True
    if system.os == "windows":
        return tag == "win_amd64" and system.arch == "x86_64"
    if system.os == "macos":
        return tag.startswith("macosx_") and tag.endswith(_MACOS_ENDINGS.get(system.arch, system.arch))
    return tag.endswith(f"_{system.arch}") and tag.startswith(("linux_", "manylinux"))


@cache
def _fits_system(tag: str, system: System) -> bool:
    if not _of_family(tag, system):
        return False
    if system.os == "macos":
        least = least_macos(tag)
        return least is None or system.macos is None or parse_glibc(system.macos) >= least
    needed = least_glibc(tag)
    if needed is None:
        return system.libc != "musl" or tag == "any"
    if system.libc == "musl":
        return False
    return system.libc_version is None or parse_glibc(system.libc_version) >= needed


def parse_glibc(text: str) -> tuple[int, ...]:
    """Return MAJOR and MINOR, which order versions; nothing for an empty text."""
    return tuple(map(int, text.split(".")[:2])) if text else ()


class PlatformFailure(Failure, frozen=True, kw_only=True):
    """A build whose files do not run with the machine's libc (`subject`): "glibc" is too old, or another."""

    rule: str = "platform"
    torch: Version
    glibc: str  # the least that the build needs
    place: str

    def _summarize_several(self, alike: tuple[PlatformFailure, ...]) -> str:
        facts = {"builds": range_of_releases(failure.torch for failure in alike), "there": self.subject}
        if self.kind == "macos":
            least = min((failure.glibc for failure in alike), key=parse_glibc)
            template = N_("{builds} need at least macOS {needed}; {place} has {there}")
            return tr(template, needed=least, place=self.place, **facts)
        if self.kind == "system":
            return tr("{builds} have no file that runs with {there}", **facts)
        needed = min((failure.glibc for failure in alike), key=parse_glibc)
        template = N_("{builds} need at least glibc {needed}; {place} has {there}")
        return tr(template, needed=needed, place=self.place, **facts)


def check(candidate: Candidate, target: Target) -> tuple[PlatformFailure, ...]:
    """Return a failure where files exist but none fits the system."""
    if not candidate.files or fitting(candidate.files, target):
        return ()
    unfit = (
        item
        for item in target.machines
        if not any(fits(f.file, _alone(target, item)) for f in candidate.files)
    )
    machine = next(unfit, target.machines[0])
    if machine.system.os == "macos":
        return (_macos_failure(candidate, machine, target),)
    needed = needed_glibc(candidate.files) if machine.system.libc != "musl" else None
    libc, place = _libc(machine), target.machine_label
    detail = (
        tr(
            "{build} needs glibc {needed} or newer; {place} has {there}",
            build=candidate.label,
            needed=needed,
            place=place,
            there=libc,
        )
        if needed
        else tr("{build} has no file that runs with {there}", build=candidate.label, there=libc)
    )
    return (
        PlatformFailure(
            kind="glibc" if needed else "system",
            subject=libc,
            detail=detail,
            source=machine.source_of("system.libc_version"),
            torch=candidate.torch,
            glibc=needed or "",
            place=place,
        ),
    )


def _macos_failure(candidate: Candidate, machine: Machine, target: Target) -> PlatformFailure:
    floors = (least_macos(tag.platform) for item in candidate.files for tag in item.file.tags)
    needed = ".".join(map(str, min((floor for floor in floors if floor), default=(0, 0))))
    there, place = f"macOS {machine.system.macos}", target.machine_label
    template = N_("{builds} need at least macOS {needed}; {place} has {there}")
    return PlatformFailure(
        kind="macos",
        subject=there,
        detail=tr(template, builds=candidate.label, needed=needed, place=place, there=there),
        source=machine.source_of("system.macos"),
        torch=candidate.torch,
        glibc=needed,
        place=place,
    )


def needed_glibc(indexed_files: tuple[IndexedFile, ...]) -> str | None:
    """Return the least glibc, MAJOR.MINOR, that one of the files needs; None where no tag tells."""
    floors = [
        floor for item in indexed_files for tag in item.file.tags if (floor := least_glibc(tag.platform))
    ]
    return ".".join(map(str, min(floors))) if floors else None


def _alone(target: Target, machine: Machine) -> Target:
    return Target((machine,), (), target.platform)


def _libc(machine: Machine) -> str:
    system = machine.system
    return f"{system.libc or 'libc'} {system.libc_version or '?'}"
