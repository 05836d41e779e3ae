"""Whether a plan repairs what an error tells of, and for which machine it is made."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cached_property

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.explanation.reported_machine import (
    ReportedMachine,
    is_of_mac,
    machine_of,
    names_gpu,
    reported_torch,
)
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import GpuenvError
from gpuenv.model.machine import Machine
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.detect import detect
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.request import STACK
from gpuenv.signatures.match import SignatureMatch
from gpuenv.signatures.reported import Reported

_OF_THE_BUILD = {"D02", "D16", "D23"}  # checks by which torch's build does not fit the machine


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

    def __init__(self, environ: Mapping[str, str], reported: Reported) -> None:
        self._environ = environ
        self._reported = reported
        self._made: dict[tuple[str, ...], str | PlanWarning | None] = {}

    @cached_property
    def _of_text(self) -> ReportedMachine:
        return machine_of(self._reported, load_knowledge(self._environ))

    @cached_property
    def _here(self) -> Machine:
        return detect(self._environ)

    def repair(self, match: SignatureMatch) -> str | PlanWarning | None:
        """Return the command that makes an environment, or why there is none; None where no plan helps.

        It is for the machine that the text is from: for this one where nothing in the text says that it is
        another one, else as a plan for what the text names of it. Companions that the text has come along.
        """
        wanted = requirements_of(match)
        if not wanted:
            return None
        names = {canonicalize_name(Requirement(text).name) for text in wanted}
        if "torch" in names:
            wanted += tuple(name for name in STACK if name in self._reported.packages and name not in names)
        if wanted not in self._made:
            self._made[wanted] = self._repair(wanted)
        made = self._made[wanted]
        return None if isinstance(made, str) and self._changes_nothing(match, made) else made

    def _changes_nothing(self, match: SignatureMatch, command: str) -> bool:
        """Whether the command brings the very torch that is there, where its build was to be at fault."""
        own = reported_torch(self._reported)
        return (
            "+" in own
            and f"torch=={own}" in shlex.split(command)
            and _OF_THE_BUILD & set(match.checks[:1]) != set()
        )

    def _repair(self, wanted: tuple[str, ...]) -> str | PlanWarning | None:
        if is_of_mac(self._reported):
            return None
        try:
            here = self._here
            if here.without_gpu and not names_gpu(self._reported):  # the matrices are large
                return _no_gpu_here()
            machine = self._of_text
        except GpuenvError as error:
            return PlanWarning("no-plan", tr("no plan was made: {error}", error=error.message))
        is_here = not here.without_gpu and machine.is_like(here)
        if not is_here and not machine.gpus:
            return _no_gpu_here() if here.without_gpu else _of_another_machine()
        from gpuenv.explanation.repair_command import RepairCommand  # noqa: PLC0415 - planning is much

        return RepairCommand(self._environ, self._reported, here).made(wanted, None if is_here else machine)


def _no_gpu_here() -> PlanWarning:
    message = tr(
        "this machine has no NVIDIA GPU: run `gpuenv explain` where the error occurred to get a plan too"
    )
    return PlanWarning("no-gpu-here", message)


def _of_another_machine() -> PlanWarning:
    message = tr("the text is from another machine, whose GPU it does not name: run `gpuenv explain` there")
    return PlanWarning("another-machine", message)
