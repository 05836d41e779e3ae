"""The least driver that would serve a request, or that a choice needs."""

from __future__ import annotations

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.machine import DriverVersion
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules import driver
from gpuenv.resolution.target import Target, driver_os


def least_driver_for(question: ResolutionInput) -> DriverVersion | None:
    """Return the least driver with which the request can be served, None where no newer driver helps.

    Old generations of GPUs get no drivers of new branches; what is returned was decided with, and holds.
    """
    target, knowledge = question.target, question.knowledge
    if not target.gpus:
        return None
    solutions = decide(question.with_target(target.with_driver_assumed())).choices
    floors = {floor for solution in solutions if (floor := least_driver_of(solution, target, knowledge))}
    possible = sorted(floor for floor in floors if has_drivers_of(floor, target, knowledge))
    return next((floor for floor in possible if _helps(floor, question)), None)


def least_driver_of(solution: Solution, target: Target, knowledge: Knowledge) -> DriverVersion | None:
    """Return the least driver that the chosen build needs: the release's own where PTX is to be compiled."""
    cuda = solution.candidate.cuda
    if cuda is None:
        return None
    systems = {driver_os(gpu.machine) for gpu in target.gpus}
    if solution.through_ptx:
        floors = [knowledge.release_floor(cuda, system) for system in systems]
    else:
        floors = [driver.least_driver(cuda, system, knowledge) for system in systems]
    return max((floor.version for floor in floors if floor), default=None)


def has_drivers_of(floor: DriverVersion, target: Target, knowledge: Knowledge) -> bool:
    """Whether the GPUs still have drivers of the branch of `floor`: old generations get no new ones."""
    supports = (knowledge.architecture_of(gpu.capability) for gpu in target.gpus)
    return all(
        support is None or support.last_driver_branch is None or floor.major <= support.last_driver_branch
        for support in supports
    )


def _helps(floor: DriverVersion, question: ResolutionInput) -> bool:
    drivers = [gpu.machine.driver.version for gpu in question.target.gpus if gpu.machine.driver]
    if not any(version < floor for version in drivers):
        return False
    updated = question.target.with_driver(floor, question.knowledge)
    return bool(decide(question.with_target(updated)).choices)
