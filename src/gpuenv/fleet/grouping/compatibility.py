"""On which classes of machines a build works, with the answers of the rules remembered."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.fleet.grouping.machine_classes import MachineClass, joint_target, picked, shared_pythons
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.collect import collect_companions
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import Request
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules import bundled_libraries, driver, gpu_code, platform_tags, requested
from gpuenv.resolution.rules.companion_failures import AvailableCompanions
from gpuenv.resolution.target import driver_os


def _libc(machine_class: MachineClass) -> Hashable:
    system = machine_class.target.machines[0].system
    return system.libc, system.libc_version


def _driven(machine_class: MachineClass) -> Hashable:
    machine = machine_class.target.machines[0]
    return (driver_os(machine), machine.driver) if machine_class.has_gpus else None


def _capabilities(machine_class: MachineClass) -> Hashable:
    return tuple(gpu.capability for gpu in machine_class.target.gpus)


# What each rule reads of a machine, the cheapest first: many classes differ in nothing that one reads.
_READ: Mapping[str, Callable[[MachineClass], Hashable]] = {
    "request": lambda machine_class: machine_class.has_gpus,
    "platform": _libc,
    "driver": _driven,
    "kernels": lambda machine_class: (_driven(machine_class), _capabilities(machine_class)),
    "library": _capabilities,
}


class _Part(Struct, frozen=True):
    """Classes (`mask`) that one rule judges alike, `example` among them.

    `number` stands for what the rule reads (of kernels: but for the driver).
    """

    rule: str
    number: int
    mask: int
    example: MachineClass


class Compatibility:
    """Whether a build works on a class of machines, by the rules that read machines one by one."""

    def __init__(self, request: Request, knowledge: Knowledge) -> None:
        self._request, self._knowledge = request, knowledge
        self._answers: dict[Hashable, bool] = {}
        self._numbers: dict[Hashable, int] = {}
        self._parts: dict[int, tuple[tuple[MachineClass, ...], tuple[_Part, ...]]] = {}

    def mask(self, candidate: Candidate, classes: tuple[MachineClass, ...]) -> int:
        """Return the classes that a build works on, as bits; a CUDA build needs one with a GPU."""
        if requested.check(candidate, self._request) or not candidate.variant.is_cuda_or_cpu:
            return 0
        mask = (1 << len(classes)) - 1
        for part in self._parts_of(classes):
            if mask & part.mask and not self._passes(part, candidate):
                mask &= ~part.mask
        return mask if self.is_looked_for(candidate, picked(classes, mask)) else 0

    def is_looked_for(self, candidate: Candidate, classes: tuple[MachineClass, ...]) -> bool:
        """Whether one of the classes needs such a build: a CUDA build is for machines with GPUs."""
        return any(
            requested.in_question(candidate, self._request, machine_class.target) for machine_class in classes
        )

    def _parts_of(self, classes: tuple[MachineClass, ...]) -> tuple[_Part, ...]:
        """The classes as each rule sees them; kept with them, as their identity is the key."""
        if id(classes) not in self._parts:
            parts = (part for rule in _READ for part in self._seen_by(rule, classes))
            self._parts[id(classes)] = classes, tuple(parts)
        return self._parts[id(classes)][1]

    def _seen_by(self, rule: str, classes: tuple[MachineClass, ...]) -> Iterator[_Part]:
        positions: dict[Hashable, list[int]] = {}
        for position, machine_class in enumerate(classes):
            positions.setdefault(_READ[rule](machine_class), []).append(position)
        for read, alike in positions.items():
            hashable = _capabilities(classes[alike[0]]) if rule == "kernels" else read
            number = self._numbers.setdefault((rule, hashable), len(self._numbers))
            yield _Part(rule, number, sum(1 << offset for offset in alike), classes[alike[0]])

    def _passes(self, part: _Part, candidate: Candidate) -> bool:
        key: Hashable = (part.number, id(candidate))
        if part.rule == "driver":
            key = (part.number, candidate.cuda)
        elif part.rule == "kernels" and candidate.cuda:  # of a driver it reads no more than this
            machine = part.example.target.machines[0]
            key = (part.number, id(candidate), driver.is_native(candidate.cuda, machine, self._knowledge))
        if key not in self._answers:
            self._answers[key] = self._ask(part, candidate)
        return self._answers[key]

    def _ask(self, part: _Part, candidate: Candidate) -> bool:
        target, knowledge = part.example.target, self._knowledge
        match part.rule:
            case "request":
                return not target.gpus or requested.in_question(candidate, self._request, target)
            case "platform":
                return bool(platform_tags.fitting(candidate.files, target))
            case "driver":
                return not driver.check(candidate, target, knowledge)
            case "kernels":
                return not gpu_code.check(candidate, target, knowledge)
        return not bundled_libraries.check(candidate, target, knowledge)


class GroupResolver(Struct):
    """Resolves for any set of the classes of one platform.

    The companions' files that fit depend on the systems, and are looked for once for each set of those.
    """

    question: ResolutionInput
    works: Compatibility
    _companions: dict[object, AvailableCompanions]

    @classmethod
    def of(cls, question: ResolutionInput) -> GroupResolver:
        """Start from the input for one machine of the platform."""
        return cls(question, Compatibility(question.request, question.knowledge), {})

    def ask(self, classes: tuple[MachineClass, ...]) -> ResolutionInput:
        """Return the input whose solutions work on all the classes."""
        question, target = self.question, joint_target(classes)
        apart = {(machine.system.libc, machine.system.libc_version): machine for machine in target.machines}
        systems = frozenset(apart)
        if systems not in self._companions:
            one_of_each = replace(target, machines=tuple(apart.values()))
            self._companions[systems] = collect_companions(
                question.listings, one_of_each, question.request.extensions
            )
        pythons = shared_pythons(tuple(machine_class.pythons for machine_class in classes))
        return replace(question, target=target, pythons=pythons, available=self._companions[systems])

    def holds(self, classes: tuple[MachineClass, ...], candidate: Candidate) -> bool:
        """Whether a build works on all the classes, also where they do not need its variant."""
        question = self.ask(classes)
        request = replace(question.request, variant=candidate.variant)
        return bool(decide(replace(question, request=request, candidates=(candidate,))).choices)

    def best(self, classes: tuple[MachineClass, ...], candidates: tuple[Candidate, ...]) -> Solution | None:
        """Return the best solution of some builds that works on all the classes."""
        return next(iter(decide(replace(self.ask(classes), candidates=candidates)).choices), None)
