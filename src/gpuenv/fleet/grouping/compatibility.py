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


def _libc(kind: MachineClass) -> Hashable:
    system = kind.target.machines[0].system
    return system.libc, system.libc_version


def _driven(kind: MachineClass) -> Hashable:
    machine = kind.target.machines[0]
    return (driver_os(machine), machine.driver) if kind.has_gpus else None


def _capabilities(kind: MachineClass) -> Hashable:
    return tuple(gpu.capability for gpu in kind.target.gpus)


def _driven_capabilities(kind: MachineClass) -> Hashable:
    return _driven(kind), _capabilities(kind)


# What each rule reads of a machine, the cheapest first: many kinds differ in nothing that one of them reads.
_READ: Mapping[str, Callable[[MachineClass], Hashable]] = {
    "request": lambda kind: kind.has_gpus,
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

    def mask(self, case: Candidate, kinds: tuple[MachineClass, ...]) -> int:
        """Return the kinds that a build works on, as bits; a CUDA build needs one with a GPU among them."""
        if request_rule.check(case, self._request) or not case.variant.is_known:
            return 0
        mask = (1 << len(kinds)) - 1
        for part in self._parts_of(kinds):
            if mask & part.mask and not self._passes(part, case):
                mask &= ~part.mask
        return mask if self.is_looked_for(case, picked(kinds, mask)) else 0

    def is_looked_for(self, case: Candidate, kinds: tuple[MachineClass, ...]) -> bool:
        """Whether one of the kinds asks for such a build: a CUDA build is for machines with GPUs."""
        return any(request_rule.in_question(case, self._request, kind.target) for kind in kinds)

    def _parts_of(self, kinds: tuple[MachineClass, ...]) -> tuple[_Part, ...]:
        """The kinds as each rule sees them; kept with the kinds themselves, whose identity is the key."""
        if id(kinds) not in self._parts:
            found = (part for rule in _READ for part in self._seen_by(rule, kinds))
            self._parts[id(kinds)] = kinds, tuple(found)
        return self._parts[id(kinds)][1]

    def _seen_by(self, rule: str, kinds: tuple[MachineClass, ...]) -> Iterator[_Part]:
        places: dict[Hashable, list[int]] = {}
        for place, kind in enumerate(kinds):
            places.setdefault(_READ[rule](kind), []).append(place)
        for read, alike in places.items():
            told = _capabilities(kinds[alike[0]]) if rule == "kernels" else read
            number = self._numbers.setdefault((rule, told), len(self._numbers))
            yield _Part(rule, number, sum(1 << place for place in alike), kinds[alike[0]])

    def _passes(self, part: _Part, case: Candidate) -> bool:
        key: Hashable = (part.number, id(case))
        if part.rule == "driver":
            key = (part.number, case.cuda)
        elif part.rule == "kernels" and case.cuda:  # of a driver it reads no more than this
            machine = part.kind.target.machines[0]
            key = (part.number, id(case), driver.is_native(case.cuda, machine, self._knowledge))
        if key not in self._answers:
            self._answers[key] = self._ask(part, case)
        return self._answers[key]

    def _ask(self, part: _Part, case: Candidate) -> bool:
        target, knowledge = part.kind.target, self._knowledge
        match part.rule:
            case "request":
                return not target.gpus or request_rule.in_question(case, self._request, target)
            case "platform":
                return bool(platform.fitting(case.found, target))
            case "driver":
                return not driver.check(case, target, knowledge)
            case "kernels":
                return not kernels.check(case, target, knowledge)
        return not library.check(case, target, knowledge)
