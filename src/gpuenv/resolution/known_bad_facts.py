"""What a plan would hold, as facts that the conditions of known-bad combinations are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpuenv.model.plan import PlannedPackage
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.candidate import Candidate, IndexedFile
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.request import Request
from gpuenv.resolution.rules.python import full_version
from gpuenv.resolution.target import Target


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """Facts by name: of several versions (of the GPUs, of the machines) any counts.

    `asked` are the packages outside the torch stack that the user asks for, with all that is asked of them.
    """

    versions: Mapping[str, tuple[Version, ...]]
    words: Mapping[str, str]
    asked: Mapping[str, SpecifierSet]

    @property
    def packages(self) -> frozenset[str]:
        """The names of all packages that are asked for or chosen, and of the other facts."""
        return frozenset((*self.versions, *self.asked))


def situation_of(
    case: Candidate,
    companions: tuple[IndexedFile, ...],
    python: PythonOffer,
    target: Target,
    request: Request,
    resolved: Iterable[PlannedPackage] = (),
) -> Situation:
    """Return the facts of one choice; `resolved` is what a resolver chose beside the torch stack."""
    system = target.machines[0].system
    versions = {
        **_chosen(resolved),
        "torch": (case.torch,),
        **{str(item.file.name): (item.release,) for item in companions},
        "python": (full_version(python),),
        "machines": (Version(str(len(target.machines))),),
        **_of_build(case),
        **_of_machines(target),
    }
    words = {
        "os": system.os,
        "arch": system.arch,
        "platform": target.platform,
        "index": case.kind,
        "variant": str(case.variant),
        "manager": request.manager,
    }
    if case.kind == "conda" and case.found and case.found[0].listing.source.name:
        words["channel"] = case.found[0].listing.source.name
    environment = marker_environment(target.platform, str(full_version(python)))
    return Situation(versions, words, _asked(request.others, environment))


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


def _of_build(case: Candidate) -> dict[str, tuple[Version, ...]]:
    facts: dict[str, tuple[Version, ...]] = {}
    if case.cuda:
        facts["cuda"] = (Version(str(case.cuda)),)
    if case.row and case.row.cudnn:
        facts["cudnn"] = (Version(case.row.cudnn),)
    return facts


def _of_machines(target: Target) -> dict[str, tuple[Version, ...]]:
    drivers = {gpu.machine.driver.version for gpu in target.gpus if gpu.machine.driver}
    systems = (machine.system for machine in target.machines)
    glibcs = {one.libc_version for one in systems if one.libc == "glibc" and one.libc_version}
    return {
        "capability": tuple({Version(str(gpu.capability)) for gpu in target.gpus}),
        "driver": tuple(drivers),
        "glibc": tuple(map(Version, glibcs)),
    }


def _asked(others: tuple[Requirement, ...], environment: dict[str, str]) -> dict[str, SpecifierSet]:
    asked: dict[str, SpecifierSet] = {}
    for item in others:
        if item.marker is None or item.marker.evaluate(environment):
            name = canonicalize_name(item.name)
            asked[name] = asked.get(name, SpecifierSet()) & item.specifier
    return asked
