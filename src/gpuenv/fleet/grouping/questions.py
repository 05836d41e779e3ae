"""The questions that are asked about kinds of machines, and what is remembered of their answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpuenv.fleet.grouping.compatibility import Compatibility
from gpuenv.fleet.grouping.machine_classes import MachineClass, joint_target, shared_pythons
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.collect import collect_companions
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules.companion_failures import AvailableCompanions


@dataclass(slots=True)
class GroupResolver:
    """Puts the question of a platform for any of its kinds together.

    The companions' files that fit depend on the systems, and are looked for once for each set of those.
    """

    question: ResolutionInput
    works: Compatibility
    _shelves: dict[object, AvailableCompanions]

    @classmethod
    def of(cls, question: ResolutionInput) -> GroupResolver:
        """Begin with the question as put for one machine of the platform."""
        return cls(question, Compatibility(question.request, question.knowledge), {})

    def ask(self, machine_classes: tuple[MachineClass, ...]) -> ResolutionInput:
        """Return the question whose choices work on all the kinds."""
        question, target = self.question, joint_target(machine_classes)
        apart = {(machine.system.libc, machine.system.libc_version): machine for machine in target.machines}
        systems = frozenset(apart)
        if systems not in self._shelves:
            one_of_each = replace(target, machines=tuple(apart.values()))
            self._shelves[systems] = collect_companions(
                question.listings, one_of_each, question.request.bound
            )
        pythons = shared_pythons(tuple(machine_class.pythons for machine_class in machine_classes))
        return replace(question, target=target, pythons=pythons, available=self._shelves[systems])

    def holds(self, machine_classes: tuple[MachineClass, ...], candidate: Candidate) -> bool:
        """Whether a build works on all the kinds, be it of the sort that is looked for there or not."""
        question = self.ask(machine_classes)
        request = replace(question.request, variant=candidate.variant)
        return bool(decide(replace(question, request=request, candidates=(candidate,))).choices)

    def best(
        self, machine_classes: tuple[MachineClass, ...], candidates: tuple[Candidate, ...]
    ) -> Solution | None:
        """Return the best choice of some builds that works on all the kinds."""
        question = replace(self.ask(machine_classes), candidates=candidates)
        return next(iter(decide(question).choices), None)
