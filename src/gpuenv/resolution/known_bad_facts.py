"""What a plan would hold, as facts that the conditions of known-bad combinations are about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache

from msgspec import Struct
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpuenv.model.plan import PlannedPackage
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import Candidate, IndexedFile
from gpuenv.resolution.request import Request
from gpuenv.resolution.requirement_index import index_of
from gpuenv.resolution.rules.python import full_version
from gpuenv.resolution.target import Target


class KnownBadFacts(Struct, frozen=True, eq=False):
    """Facts by name: of several versions (of the GPUs, of the machines) any counts.

    `requested` are the packages outside the torch stack that the user asks for, with their specifiers.
    """

    versions: Mapping[str, tuple[Version, ...]]
    words: Mapping[str, str]
    requested: Mapping[str, SpecifierSet]

    def names(self, pattern: str) -> Iterator[str]:
        """The names, like a pattern, of packages that are asked for or chosen, and of the other facts."""
        yield from (name for name in self.versions if fnmatchcase(name, pattern))
        yield from (name for name in _names_like(self.requested)(pattern) if name not in self.versions)

    def has(self, package: str) -> bool:
        """Whether a package is asked for or chosen."""
        return package in self.versions or package in self.requested


def _names_by_pattern(requested: Mapping[str, SpecifierSet]) -> Callable[[str], tuple[str, ...]]:
    return cache(lambda pattern: tuple(name for name in requested if fnmatchcase(name, pattern)))


_names_like: ByIdentity[Mapping[str, SpecifierSet], Callable[[str], tuple[str, ...]]]
_names_like = ByIdentity(_names_by_pattern)


def known_bad_facts(
    candidate: Candidate,
    companions: tuple[IndexedFile, ...],
    python: PythonOffer,
    target: Target,
    request: Request,
    resolved: Iterable[PlannedPackage] = (),
) -> KnownBadFacts:
    """Return the facts of one choice; `resolved` is what a resolver chose beside the torch stack."""
    system = target.machines[0].system
    versions = {
        **_chosen(resolved),
        "torch": (candidate.torch,),
        **{str(item.file.name): (item.release,) for item in companions},
        "python": (full_version(python),),
        "machines": (Version(str(len(target.machines))),),
        **_of_build(candidate),
        **_of_machines(target),
    }
    words = {
        "os": system.os,
        "arch": system.arch,
        "platform": target.platform,
        "index": candidate.kind,
        "variant": str(candidate.variant),
        "manager": request.manager,
    }
    if candidate.kind == "conda" and candidate.files and candidate.files[0].listing.source.name:
        words["channel"] = candidate.files[0].listing.source.name
    requested = index_of(request.others).specifiers(target.platform, str(full_version(python)))
    return KnownBadFacts(versions, words, requested)


def _chosen(resolved: Iterable[PlannedPackage]) -> dict[str, tuple[Version, ...]]:
    return {
        canonicalize_name(package.name): (version,)
        for package in resolved
        if (version := _version(package.version)) is not None
    }


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:  # an old package: no condition is about such versions
        return None


def _of_build(candidate: Candidate) -> dict[str, tuple[Version, ...]]:
    facts: dict[str, tuple[Version, ...]] = {}
    if candidate.cuda:
        facts["cuda"] = (Version(str(candidate.cuda)),)
    if candidate.row and candidate.row.cudnn:
        facts["cudnn"] = (Version(candidate.row.cudnn),)
    return facts


def _of_machines(target: Target) -> dict[str, tuple[Version, ...]]:
    drivers = {gpu.machine.driver.version for gpu in target.gpus if gpu.machine.driver}
    systems = (machine.system for machine in target.machines)
    glibcs = {system.libc_version for system in systems if system.libc == "glibc" and system.libc_version}
    return {
        "capability": tuple({Version(str(gpu.capability)) for gpu in target.gpus}),
        "driver": tuple(drivers),
        "glibc": tuple(map(Version, glibcs)),
    }
