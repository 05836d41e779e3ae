"""The command that repairs what an error tells of: a plan for this machine that was made and holds."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.environments.store import find_place
from gpuenv.formats.shell import render_command
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import GpuenvError, Unsatisfiable
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.model.wheel import Platform
from gpuenv.planning.detect import detect
from gpuenv.planning.make_plan import Basis, WheelBasis, read_basis
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.request import STACK, parse_requirements
from gpuenv.resolution.target import platform_of
from gpuenv.signatures.match import SignatureMatch

_OFFLINE = "--offline"
_NAMES = 100  # tried for one that is free


def requirements_of(match: SignatureMatch) -> tuple[str, ...]:
    """Return what a plan that removes the cause is asked for; nothing where no plan does.

    What the text names is taken for the torch stack alone: other names in it may be anybody's.
    """
    facts = dict(match.facts)
    return tuple(text for template in match.wants if (text := _filled(template, facts)))


def _filled(template: str, facts: Mapping[str, str]) -> str | None:
    try:
        text = template.format(**facts)
        requirement = Requirement(text)
    except (KeyError, InvalidRequirement):  # it was not in the text, or in no form that can be asked for
        return None
    trusted = text == template or canonicalize_name(requirement.name) in STACK
    return text if trusted and not requirement.url else None


class Repairs:
    """Makes the commands that repair what one text tells of; what is the same for several is done once."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._here: Machine | None = None
        self._made: dict[tuple[tuple[str, ...], str | None], str | PlanWarning] = {}

    def repair(self, wanted: tuple[str, ...], facts: Mapping[str, str]) -> str | PlanWarning:
        """Return the command that makes an environment on this machine, or why there is none.

        On a machine without an NVIDIA GPU the text may come from another one: where it names that one's
        compute capability, the command plans for it.
        """
        key = wanted, facts.get("capability")
        if key not in self._made:
            self._made[key] = self._repair(*key)
        return self._made[key]

    def _repair(self, wanted: tuple[str, ...], capability: str | None) -> str | PlanWarning:
        try:
            options = PlanOptions(requirements=wanted, program=("gpuenv", "create", "NAME"))
            basis, plan = self._plan(options)
            if not plan.machines[0].without_gpu:
                return self._creating(wanted, basis, plan)
            return self._for_another(wanted, capability)
        except Unsatisfiable as refusal:
            return _from_refusal(refusal, self._environ)
        except GpuenvError as error:
            return PlanWarning("no-plan", tr("no plan was made: {error}", error=error.message))

    def _plan(self, options: PlanOptions) -> tuple[Basis, Plan]:
        """Decide from what is known offline; where that does not do, ask the indexes."""
        if self._here is None:
            self._here = detect(self._environ)
        try:
            return self._decided(replace(options, offline=True))
        except Unsatisfiable:
            raise
        except GpuenvError:  # what else is required was never fetched here
            return self._decided(options)

    def _decided(self, options: PlanOptions) -> tuple[Basis, Plan]:
        basis = read_basis(options, self._environ, here=self._here)
        return basis, basis.plan(self._environ, target=".venv")

    def _creating(self, wanted: tuple[str, ...], basis: Basis, plan: Plan) -> str:
        exact = _exact(wanted, plan)
        argv = ("gpuenv", "create", _free(f"torch-{plan.variant}", self._environ))
        typed = exact if self._holds(exact, basis, plan) else wanted
        return render_command((*argv, *typed), _platform(plan))

    def _holds(self, exact: tuple[str, ...], basis: Basis, plan: Plan) -> bool:
        """Whether the exact requirements give the plan that they were taken from."""
        if isinstance(basis, WheelBasis) and all(
            _is_of_stack(text) for text in exact
        ):  # the pages that were read answer it
            return basis.gives(plan, parse_requirements(exact))
        try:
            _, again = self._plan(PlanOptions(requirements=exact))
        except GpuenvError:
            return False
        return (again.variant, again.pins) == (plan.variant, plan.pins)

    def _for_another(self, wanted: tuple[str, ...], capability: str | None) -> str | PlanWarning:
        if not capability:
            return _no_gpu_here()
        _, plan = self._plan(PlanOptions(requirements=wanted, gpus=(capability,)))
        argv = ("gpuenv", "plan", *_exact(wanted, plan), "--gpu", capability)
        return render_command(argv, _platform(plan))


def _exact(wanted: tuple[str, ...], plan: Plan) -> tuple[str, ...]:
    """Return the requirements with the versions that were planned for the torch stack."""
    versions = {package.name: package.version for package in plan.packages if package.name in STACK}
    names = {canonicalize_name(Requirement(text).name): text for text in ("torch", *wanted)}
    return tuple(f"{name}=={versions[name]}" if name in versions else text for name, text in names.items())


def _no_gpu_here() -> PlanWarning:
    message = tr(
        "this machine has no NVIDIA GPU: run gpuenv explain where the error occurred to get a plan too"
    )
    return PlanWarning("no-gpu-here", message)


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
