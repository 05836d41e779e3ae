"""Many machines and the few environments that serve them."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Advice, Plan, PlanWarning


class FleetMachine(Struct, frozen=True):
    """One saved machine: `host` is None where the file could not be read, `problem` why it is not served.

    `name` is the file's name without what does not print, and unlike the others' names.
    """

    name: str
    file: str
    machine: Machine | None
    problem: str | None = None


class FleetGroup(Struct, frozen=True):
    """The machines, by their positions in the list of all, that one plan is for."""

    platform: str
    numbers: tuple[int, ...]
    plan: Plan


class FleetPlan(Struct, frozen=True):
    """All the machines, the groups of those that are served, and what would make one group of several."""

    machines: tuple[FleetMachine, ...]
    groups: tuple[FleetGroup, ...]
    together: tuple[Advice, ...]

    def group_of(self, number: int) -> int | None:
        """Return the group of a machine, counted from 1; None where it is not served."""
        return next(
            (position for position, group in enumerate(self.groups, 1) if number in group.numbers), None
        )

    def names(self, group: FleetGroup) -> tuple[str, ...]:
        """Return the names of a group's machines."""
        return tuple(self.machines[number].name for number in group.numbers)

    @property
    def warnings(self) -> tuple[PlanWarning, ...]:
        """The warnings of all plans, each with its group where there are several."""
        if len(self.groups) == 1:
            return self.groups[0].plan.warnings
        return tuple(
            replace(warn, message=tr("group {number}: {message}", number=number, message=warn.message))
            for number, group in enumerate(self.groups, 1)
            for warn in group.plan.warnings
        )

    @property
    def unserved(self) -> tuple[FleetMachine, ...]:
        """The machines that no group holds."""
        return tuple(machine for number, machine in enumerate(self.machines) if self.group_of(number) is None)
