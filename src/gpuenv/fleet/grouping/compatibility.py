"""On which kinds of machines a build works: each rule is asked once for what it reads of a machine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass

from gpuenv.fleet.grouping.machine_classes import MachineClass, picked
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.request import Request
from gpuenv.resolution.rules import bundled_libraries as library
from gpuenv.resolution.rules import driver
from gpuenv.resolution.rules import gpu_code as kernels
from gpuenv.resolution.rules import platform_tags as platform
from gpuenv.resolution.rules import requested as request_rule
from gpuenv.resolution.target import driver_os


def _libc(machine_class: MachineClass) -> Hashable:
    system = machine_class.target.machines[0].system
    return system.libc, system.libc_version


def _driven(machine_class: MachineClass) -> Hashable:
    machine = machine_class.target.machines[0]
    return (driver_os(machine), machine.driver) if machine_class.has_gpus else None


def _capabilities(machine_class: MachineClass) -> Hashable:
    return tuple(gpu.capability for gpu in machine_class.target.gpus)


def _driven_capabilities(machine_class: MachineClass) -> Hashable:
    return _driven(machine_class), _capabilities(machine_class)


# What each rule reads of a machine, the cheapest first: many kinds differ in nothing that one of them reads.
_READ: Mapping[str, Callable[[MachineClass], Hashable]] = {
    "request": lambda machine_class: machine_class.has_gpus,
    "platform": _libc,
    "driver": _driven,
    "kernels": _driven_capabilities,
    "library": _capabilities,
}


@dataclass(frozen=True, slots=True)
class _Part:
    """Kinds (`mask`) that one rule can't tell apart.

    `kind` is one of them, `number` stands for what the rule reads (of kernels: but for the driver).
    """

    rule: str
    number: int
    mask: int
    kind: MachineClass


class Compatibility:
    """Tells whether a build works on a kind, as far as rules that read machines one by one can tell."""

    def __init__(self, request: Request, knowledge: Knowledge) -> None:
        self._request, self._knowledge = request, knowledge
        self._answers: dict[Hashable, bool] = {}
        self._numbers: dict[Hashable, int] = {}
        self._parts: dict[int, tuple[tuple[MachineClass, ...], tuple[_Part, ...]]] = {}

    def mask(self, candidate: Candidate, machine_classes: tuple[MachineClass, ...]) -> int:
        """Return the kinds that a build works on, as bits; a CUDA build needs one with a GPU among them."""
        if request_rule.check(candidate, self._request) or not candidate.variant.is_known:
            return 0
        mask = (1 << len(machine_classes)) - 1
        for part in self._parts_of(machine_classes):
            if mask & part.mask and not self._passes(part, candidate):
                mask &= ~part.mask
        return mask if self.is_looked_for(candidate, picked(machine_classes, mask)) else 0

    def is_looked_for(self, candidate: Candidate, machine_classes: tuple[MachineClass, ...]) -> bool:
        """Whether one of the kinds asks for such a build: a CUDA build is for machines with GPUs."""
        return any(
            request_rule.in_question(candidate, self._request, machine_class.target)
            for machine_class in machine_classes
        )

    def _parts_of(self, machine_classes: tuple[MachineClass, ...]) -> tuple[_Part, ...]:
        """The kinds as each rule sees them; kept with the kinds themselves, whose identity is the key."""
        if id(machine_classes) not in self._parts:
            parts = (part for rule in _READ for part in self._seen_by(rule, machine_classes))
            self._parts[id(machine_classes)] = machine_classes, tuple(parts)
        return self._parts[id(machine_classes)][1]

    def _seen_by(self, rule: str, machine_classes: tuple[MachineClass, ...]) -> Iterator[_Part]:
        places: dict[Hashable, list[int]] = {}
        for position, machine_class in enumerate(machine_classes):
            places.setdefault(_READ[rule](machine_class), []).append(position)
        for read, alike in places.items():
            hashable = _capabilities(machine_classes[alike[0]]) if rule == "kernels" else read
            number = self._numbers.setdefault((rule, hashable), len(self._numbers))
            yield _Part(rule, number, sum(1 << offset for offset in alike), machine_classes[alike[0]])

    def _passes(self, part: _Part, candidate: Candidate) -> bool:
        key: Hashable = (part.number, id(candidate))
        if part.rule == "driver":
            key = (part.number, candidate.cuda)
        elif part.rule == "kernels" and candidate.cuda:  # of a driver it reads no more than this
            machine = part.kind.target.machines[0]
            key = (part.number, id(candidate), driver.is_native(candidate.cuda, machine, self._knowledge))
        if key not in self._answers:
            self._answers[key] = self._ask(part, candidate)
        return self._answers[key]

    def _ask(self, part: _Part, candidate: Candidate) -> bool:
        target, knowledge = part.kind.target, self._knowledge
        match part.rule:
            case "request":
                return not target.gpus or request_rule.in_question(candidate, self._request, target)
            case "platform":
                return bool(platform.fitting(candidate.files, target))
            case "driver":
                return not driver.check(candidate, target, knowledge)
            case "kernels":
                return not kernels.check(candidate, target, knowledge)
        return not library.check(candidate, target, knowledge)
