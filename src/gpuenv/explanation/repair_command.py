"""The command that repairs what an error tells of: a plan that was made and holds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpuenv.environments.store import find_place
from gpuenv.explanation.reported_machine import ReportedMachine, python_of, reported_torch
from gpuenv.explanation.wheels.facts import JUDGED
from gpuenv.formats.shell import render_command
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import GpuenvError, Unsatisfiable
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.model.wheel import Platform
from gpuenv.planning.make_plan import Basis, WheelBasis, read_basis
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.candidate import release_of
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import STACK, parse_requirements
from gpuenv.resolution.resolve import decide
from gpuenv.resolution.target import platform_of
from gpuenv.signatures.reported import Reported

_OFFLINE = "--offline"
_DESCRIBING = ("--gpu", "--driver", "--platform")
_BUILT = re.compile(r"(?:sm|compute)_(\d{1,2})(\d)")
_NAMES = 100  # tried for one that is free


class RepairCommand:
    """Makes the commands that repair what one text tells of, by plans.

    `here` is this machine: what is not described is taken from it.
    """

    def __init__(self, environ: Mapping[str, str], reported: Reported, here: Machine) -> None:
        self._environ = environ
        self._reported = reported
        self._here = here

    def made(self, wanted: tuple[str, ...], described: ReportedMachine | None) -> str | PlanWarning:
        """Return the command for the machine described, else for this one; or why there is none."""
        options = PlanOptions(requirements=wanted)
        if described is None:
            options = replace(options, program=("gpuenv", "create", "NAME"))
        else:
            options = replace(
                options, gpus=described.gpus, driver=described.driver, platform=described.platform
            )
        try:
            return self._repaired(options)
        except Unsatisfiable as refusal:
            return _from_refusal(refusal, self._environ)
        except GpuenvError as error:
            return PlanWarning("no-plan", tr("no plan was made: {error}", error=error.message))

    def _repaired(self, options: PlanOptions) -> str:
        """Return the command for a machine: with the Python of the text, where there is a plan for that."""
        python = python_of(self._reported)
        if python:
            with suppress(Unsatisfiable):
                return self._nearest(replace(options, python=python))
        return self._nearest(options)

    def _nearest(self, options: PlanOptions) -> str:
        """Return the command of the plan whose torch is nearest to that of the text."""
        basis, plan = self._plan(options)
        torch = nearest_torch(basis, self._reported)
        if torch is not None and torch not in _torches_of(plan):
            nearer = replace(options, requirements=_with_torch(options.requirements, torch))
            with suppress(GpuenvError):
                basis, plan = self._plan(nearer)
                options = nearer
        return self._command(options, basis, plan)

    def _plan(self, options: PlanOptions) -> tuple[Basis, Plan]:
        """Decide from what is known offline; where that does not do, ask the indexes."""
        options = replace(options, here=self._here)
        try:
            return self._decided(replace(options, offline=True))
        except Unsatisfiable:
            raise
        except GpuenvError:  # what else is required was never fetched here
            return self._decided(options)

    def _decided(self, options: PlanOptions) -> tuple[Basis, Plan]:
        basis = read_basis(options, self._environ)
        return basis, basis.plan(self._environ, target=".venv")

    def _command(self, options: PlanOptions, basis: Basis, plan: Plan) -> str:
        exact = _exact(options.requirements, plan)
        typed = exact if self._holds(exact, options, basis, plan) else options.requirements
        typed += ("--python", options.python) if options.python else ()
        if not options.gpus:
            argv = ("gpuenv", "create", _free(f"torch-{plan.variant}", self._environ))
            return render_command((*argv, *typed), _platform(plan))
        described = ((name, value) for name, value in options.as_typed if name in _DESCRIBING)
        words = (word for pair in described for word in pair)
        return render_command(("gpuenv", "plan", *typed, *words), _platform(plan))

    def _holds(self, exact: tuple[str, ...], options: PlanOptions, basis: Basis, plan: Plan) -> bool:
        """Whether the exact requirements give the plan that they were taken from."""
        if isinstance(basis, WheelBasis) and all(
            _is_of_stack(text) for text in exact
        ):  # the pages that were read answer it
            return basis.gives(plan, parse_requirements(exact))
        try:
            _, again = self._plan(replace(options, requirements=exact))
        except GpuenvError:
            return False
        return (again.variant, again.pins) == (plan.variant, plan.pins)


def nearest_torch(basis: Basis, reported: Reported) -> Version | None:
    """Return the torch that changes least: the lowest release from that of the text on, else the highest.

    Where the text names no torch, the lowest that runs on a GPU that is newer than what torch was built for;
    None for whichever is preferred.
    """
    if not isinstance(basis, WheelBasis):
        return None
    choices = decide(basis.question).choices
    releases = sorted({choice.candidate.torch for choice in choices})
    try:
        own = Version(reported_torch(reported))
    except InvalidVersion:
        return releases[0] if releases and _newer_than_built(basis, reported) else None
    later = (release for release in releases if release >= release_of(own))
    nearest = next(later, releases[-1] if releases else None)
    if nearest is None or not own.local:
        return nearest
    same_variant = Version(f"{nearest}+{own.local}")
    return same_variant if same_variant in map(_built, choices) else nearest


def _built(choice: Solution) -> Version | None:
    """Return the version of a build that carries its variant, None of PyPI's."""
    candidate = choice.candidate
    return Version(f"{candidate.torch}+{candidate.variant}") if candidate.kind == "pytorch" else None


def _newer_than_built(basis: WheelBasis, reported: Reported) -> bool:
    """Whether a GPU is newer than all that the torch of the text was built for."""
    built = [
        Version(f"{major}.{minor}") for major, minor in _BUILT.findall(reported.value("architectures") or "")
    ]
    gpus = basis.question.target.gpus
    return bool(built) and any(Version(str(gpu.capability)) > max(built) for gpu in gpus)


def _torches_of(plan: Plan) -> tuple[Version, ...]:
    """Return the torch of a plan, as its release and as the build it is."""
    versions = (Version(item.version) for item in plan.packages if item.name == "torch")
    return tuple(form for version in versions for form in (release_of(version), version))


def _with_torch(requirements: tuple[str, ...], torch: Version) -> tuple[str, ...]:
    others = (text for text in requirements if canonicalize_name(Requirement(text).name) != "torch")
    return (f"torch=={torch}", *others)


def _exact(wanted: tuple[str, ...], plan: Plan) -> tuple[str, ...]:
    """Return the requirements with the versions that were planned for the torch stack."""
    versions = {
        package.name: package.version if package.name in JUDGED else package.version.partition("+")[0]
        for package in plan.packages
        if package.name in STACK
    }  # the others have no build of their own for each CUDA
    names = {canonicalize_name(Requirement(text).name): text for text in ("torch", *wanted)}
    return tuple(f"{name}=={versions[name]}" if name in versions else text for name, text in names.items())


def _is_of_stack(requirement: str) -> bool:
    return canonicalize_name(Requirement(requirement).name) in STACK


def _from_refusal(refusal: Unsatisfiable, environ: Mapping[str, str]) -> str | PlanWarning:
    """Return the first way out that was found, as it would be typed."""
    for fix in refusal.fixes:
        words = shlex.split(fix.command or "")
        if words[:3] == ["gpuenv", "create", "NAME"]:
            words[2] = _free("torch", environ)
            return shlex.join(word for word in words if word != _OFFLINE)
    return PlanWarning("no-plan", tr("no plan fixes it here: {error}", error=refusal.message))


def _free(name: str, environ: Mapping[str, str]) -> str:
    """Return the name, with a number where an environment of gpuenv has it."""
    names = (name, *(f"{name}-{number}" for number in range(2, _NAMES)))
    return next((item for item in names if not find_place(item, environ).path.exists()), name)


def _platform(plan: Plan) -> Platform:
    return platform_of(plan.machines[0])
