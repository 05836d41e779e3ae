"""Groups of machines whose GPUs are not NVIDIA's: those of one kind together, else those that are alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from msgspec import Struct

from gpuenv.fleet.model import FleetGroup
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import GpuenvError, Unsatisfiable
from gpuenv.model.machine import Machine
from gpuenv.planning.machines import has_other_builds, locate
from gpuenv.planning.make_plan import PlanRequest, plan_of
from gpuenv.planning.pages.listings import list_files
from gpuenv.planning.pythons import offer_pythons
from gpuenv.resolution.resolve import build_input
from gpuenv.resolution.target import Target

Numbered = Mapping[int, Machine]


class AcceleratedPlanner(Struct, frozen=True):
    """Plans for machines that builds of another kind than CUDA's are for."""

    wanted: PlanRequest
    knowledge: Knowledge
    environ: Mapping[str, str]
    place: str

    def part(
        self, platform: str, machines: Numbered
    ) -> tuple[tuple[FleetGroup, ...], dict[int, str], dict[int, Machine]]:
        """Return groups of such machines of a platform, which of them are not served, and the others."""
        kinds: dict[str | None, dict[int, Machine]] = {None: {}}
        for number, machine in machines.items():
            kinds.setdefault(self._kind(machine), {})[number] = machine
        others = kinds.pop(None)
        groups: list[FleetGroup] = []
        problems: dict[int, str] = {}
        for alike in kinds.values():
            for numbers in self._together(alike):
                try:
                    groups.append(self._group(platform, {number: alike[number] for number in numbers}))
                except GpuenvError as error:  # noqa: PERF203 - the others can be planned for all the same
                    problems |= dict.fromkeys(numbers, error.message)
        return tuple(groups), problems, others

    def _kind(self, machine: Machine) -> str | None:
        asked = self.wanted.request.accelerator
        if asked in ("cuda", "cpu") or not (has_other_builds(machine) or machine.l4t or asked):
            return None
        try:
            target = self._target((machine,))
        except GpuenvError:  # then it is told where the others are
            return None
        return f"{target.kind} {target.board is not None}" if target.is_accelerated else None

    def _together(self, machines: Numbered) -> Iterator[tuple[int, ...]]:
        """Yield all of them where one plan is for all, else those that are alike."""
        alike: dict[Hashable, list[int]] = {}
        for number, machine in machines.items():
            alike.setdefault(_identity(machine), []).append(number)
        if len(alike) > 1:
            try:
                self._group("", machines)
            except Unsatisfiable:
                yield from map(tuple, alike.values())
                return
        yield tuple(machines)

    def _group(self, platform: str, machines: Numbered) -> FleetGroup:
        wanted, target = self.wanted, self._target(tuple(machines.values()))
        options, request = wanted.options, wanted.request
        pythons = offer_pythons(options, request.manager, target, self.knowledge, self.environ)
        listed = list_files(options, request, target, self.knowledge, self.environ)
        question = build_input(request, target, self.knowledge, listed.listings, pythons)
        plan = plan_of(question, listed, wanted, self.environ, target=self.place)
        return FleetGroup(platform, tuple(machines), plan)

    def _target(self, machines: tuple[Machine, ...]) -> Target:
        options, asked = self.wanted.options, self.wanted.request.accelerator
        return locate(machines, options, asked, self.knowledge)


def _identity(machine: Machine) -> Hashable:
    """What a plan for a machine depends on, but for its Pythons."""
    devices = tuple(sorted((item.architecture or "", item.vendor) for item in machine.accelerators))
    system = machine.system
    gpus = tuple(gpu.compute_capability for gpu in machine.gpus)
    return system.libc_version, system.macos, devices, gpus, machine.amdgpu, machine.cann, machine.l4t
