"""Equivalence classes of machines: those that the rules cannot tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from gpuenv.fleet.grouping.set_cover import bits
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.machine import Machine
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import driver, known_bad
from gpuenv.resolution.target import Target, TargetGpu, driver_os


class Member(Struct, frozen=True):
    """One machine of a fleet: its position in the list of them, its target, and its Pythons."""

    number: int
    target: Target
    pythons: tuple[PythonOffer, ...]


class MachineClass(Struct, frozen=True):
    """Machines that every rule judges alike; `target` is one of them, `numbers` are their positions."""

    target: Target
    pythons: tuple[PythonOffer, ...]
    numbers: tuple[int, ...]

    @property
    def has_gpus(self) -> bool:
        """Whether builds are judged by GPUs at all."""
        return bool(self.target.gpus)

    def changed(self, change: Callable[[Target], Target]) -> MachineClass:
        """Return the class as if its machines were others."""
        return replace(self, target=change(self.target))


def equivalence_classes(members: tuple[Member, ...], question: ResolutionInput) -> tuple[MachineClass, ...]:
    """Return the classes of the machines, in the order in which they first appear; all of one platform."""
    telling = _Telling.of(question)
    alike: dict[object, list[Member]] = {}
    for member in members:
        alike.setdefault(telling.key(member), []).append(member)
    return tuple(_class_of(group, telling.gpus) for group in alike.values())


def _class_of(members: list[Member], most_gpus: int) -> MachineClass:
    first = members[0].target
    pythons = shared_pythons(tuple(member.pythons for member in members))
    numbers = tuple(member.number for member in members)
    return MachineClass(first.only(_telling_gpus(first.gpus, most_gpus)), pythons, numbers)


class _Telling(Struct, frozen=True):
    """What the rules tell machines apart by: see `resolution/rules` and `resolution.known_bad_facts`.

    `cudas` are the CUDA versions of the builds, `drivers` what is known to be bad with some drivers, `gpus`
    the number of GPUs from which on their number makes no difference.
    """

    cudas: tuple[CudaVersion, ...]
    drivers: tuple[SpecifierSet, ...]
    gpus: int
    knowledge: Knowledge

    @classmethod
    def of(cls, question: ResolutionInput) -> _Telling:
        cudas = tuple(sorted({candidate.cuda for candidate in question.candidates if candidate.cuda}))
        drivers = known_bad.specifiers_on("driver", question.knowledge)
        gpus = max((floor.least_gpus for floor in question.knowledge.libraries), default=1)
        return cls(cudas, drivers, gpus, question.knowledge)

    def key(self, member: Member) -> object:
        target = member.target
        (machine,) = target.machines
        system = machine.system
        return (
            (system.os, system.arch, system.libc, system.libc_version),
            frozenset(gpu.capability for gpu in target.gpus),
            min(len(target.gpus), self.gpus),
            self._driver(machine) if target.gpus else None,
            frozenset(offer.tag for offer in member.pythons),
        )

    def _driver(self, machine: Machine) -> object:
        """The CUDA versions that a driver runs, and those that it supports itself."""
        os = driver_os(machine)  # under WSL2 Windows' floors count
        if machine.driver is None:
            return (os,)
        version = machine.driver.version
        return (
            os,
            tuple(driver.runs(cuda, machine, self.knowledge) for cuda in self.cudas),
            tuple(driver.is_native(cuda, machine, self.knowledge) for cuda in self.cudas),
            tuple(wanted.contains(version, prereleases=True) for wanted in self.drivers),
        )


def _telling_gpus(gpus: tuple[TargetGpu, ...], most: int) -> tuple[TargetGpu, ...]:
    """Leave out GPUs that add nothing: those of a capability that so many others have."""
    seen: Counter[object] = Counter()
    kept = []
    for gpu in gpus:
        seen[gpu.capability] += 1
        if seen[gpu.capability] <= most:
            kept.append(gpu)
    return tuple(kept)


def shared_pythons(offers: tuple[tuple[PythonOffer, ...], ...]) -> tuple[PythonOffer, ...]:
    """Return the Pythons that all machines can have; where their patch releases differ, MAJOR.MINOR."""
    by_tag = [{offer.tag: offer for offer in reversed(of_one)} for of_one in dict.fromkeys(offers)]
    first, *others = by_tag
    return tuple(
        _shared([offer, *(other[tag] for other in others)])
        for tag, offer in reversed(first.items())
        if all(tag in other for other in others)
    )


def _shared(offers: list[PythonOffer]) -> PythonOffer:
    first = offers[0]
    exact = all(offer.version == first.version for offer in offers)
    return PythonOffer(
        first.version if exact else first.short,
        installed=all(offer.installed for offer in offers),
        free_threaded=first.free_threaded,
    )


def joint_target(classes: tuple[MachineClass, ...]) -> Target:
    """Return what a build must work on to work on all the classes."""
    return Target(
        tuple(machine for machine_class in classes for machine in machine_class.target.machines),
        tuple(gpu for machine_class in classes for gpu in machine_class.target.gpus),
        classes[0].target.platform,
    )


def picked(classes: tuple[MachineClass, ...], mask: int) -> tuple[MachineClass, ...]:
    """Return the classes whose bits are set."""
    return tuple(classes[bit] for bit in bits(mask))
