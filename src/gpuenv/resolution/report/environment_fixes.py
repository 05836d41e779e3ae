"""Fixes that leave the request as it is: a newer driver or glibc, an index that answers, a larger build."""

from __future__ import annotations

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Fix
from gpuenv.model.machine import DriverVersion
from gpuenv.resolution.candidate import Failure
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.request import Request
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.resolution.rules import driver
from gpuenv.resolution.rules.bundled_libraries import UNKNOWN_GENERATION, LibraryFailure
from gpuenv.resolution.rules.platform_tags import needed_glibc, parse_glibc
from gpuenv.resolution.target import Target, driver_os


def newer_driver(question: ResolutionInput) -> Fix | None:
    """Return the least driver that would do, where the GPUs still get drivers of its branch."""
    if not any(gpu.machine.driver for gpu in question.target.gpus):
        return None
    floor = least_driver_for(question)
    return Fix(tr("update the driver to {floor} or newer", floor=floor)) if floor else None


def newer_glibc(question: ResolutionInput, decision: Decision) -> Fix | None:
    """Return the least glibc that would do."""
    if not any(failure.rule == "platform" for rejected in decision.rejected for failure in rejected.failures):
        return None
    solutions = decide(with_any_glibc(question)).choices
    if not solutions:
        return None
    needed = min((glibc_of(solution) for solution in solutions), key=parse_glibc)
    text = (
        tr("use a system with glibc {needed} or newer, such as a newer container image", needed=needed)
        if needed
        else tr("use a system with glibc, such as another container image")
    )
    return Fix(text)


def newer_gpuenv(decision: Decision) -> Fix | None:
    """Say that this gpuenv is too old, where it knows of no CUDA that serves one of the GPUs."""
    unknown = (
        failure
        for rejected in decision.rejected
        for failure in rejected.failures
        if isinstance(failure, LibraryFailure) and failure.kind == UNKNOWN_GENERATION
    )
    result = next(unknown, None)
    if result is None:
        return None
    text = tr("update gpuenv: this version does not know GPUs as new as {gpu}", gpu=result.gpu)
    return Fix(text, "pip install --upgrade gpuenv")


def with_any_glibc(question: ResolutionInput) -> ResolutionInput:
    """Return the question as if every machine had a glibc new enough."""
    return build_input(
        question.request,
        question.target.with_glibc_assumed(),
        question.knowledge,
        question.listings,
        question.pythons,
    )


def glibc_of(solution: Solution) -> str:
    """Return the least glibc, MAJOR.MINOR, that all files of a choice run with; empty where no tag tells."""
    return max((needed_glibc((item,)) or "" for item in solution.files), key=parse_glibc)


def another_index(question: ResolutionInput, decision: Decision) -> Fix | None:
    """Say where to look, where nothing but the indexes stands in the way of a build."""
    reached = (
        rejected.failures for rejected in decision.rejected if all(map(_is_about_indexes, rejected.failures))
    )
    failures = next(reached, ())
    if not failures:
        return None
    page = next((failure.unread_page for failure in failures if failure.unread_page), None)
    if page is None:
        return Fix(tr("name an index that lists it with --mirror, or a wheelhouse with --find-links"))
    if may_ask_mirrors(question.request):
        return Fix(tr("make {page} reachable, or add `--mirror auto` to look for it on mirrors", page=page))
    return Fix(
        tr("make {page} reachable, or name a mirror with --mirror, then run the command again", page=page)
    )


def may_ask_mirrors(request: Request) -> bool:
    """Whether mirrors could be asked that were not: none was named, and the network may be used."""
    if request.offline or request.mirrors_tried:
        return False
    return all(name != "--mirror" for name, _ in request.options)


def _is_about_indexes(failure: Failure) -> bool:
    return failure.rule == "reach" or failure.kind in ("down", "absent")


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
