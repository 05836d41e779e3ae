"""Names of packages that mislead, or say another CUDA than torch's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.ecosystem import MisleadingName
from gpuenv.model.plan import PlanWarning
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput

_OF_CUDA = re.compile(r"-cu(?:da)?(1\d)x?")  # cupy-cuda12x, faiss-gpu-cu12, nvidia-cudnn-cu13


def warn_of_names(question: ResolutionInput, solution: Solution) -> tuple[PlanWarning, ...]:
    """Warn of requested names that are not what they seem, and of wheels for another CUDA than torch's."""
    names = dict.fromkeys(
        canonicalize_name(item.name) for item in question.request.to_resolve if item.url is None
    )
    return tuple(warning for name in names for warning in _of_name(name, question, solution))


def _of_name(name: str, question: ResolutionInput, solution: Solution) -> Iterator[PlanWarning]:
    known = question.knowledge.ecosystem.misleading_name(name)
    if known is not None:
        yield PlanWarning("package-name", _misleading(known, solution))
    cuda, own = solution.candidate.cuda, major_in(name)
    if own is None:
        return
    drivers = [gpu.machine.driver for gpu in question.target.gpus if gpu.machine.driver]
    supported = min((driver.cuda for driver in drivers if driver.cuda), default=None)
    if supported is not None and supported.major < own:
        text = tr(
            "`{name}` needs a driver for CUDA {cuda}; this one is for CUDA {supported}",
            name=name,
            cuda=own,
            supported=supported,
        )
        yield PlanWarning("package-cuda", text)
    elif cuda is not None and cuda.major != own:
        facts = {"name": name, "cuda": own, "own": cuda}
        text = tr(
            "`{name}` is for CUDA {cuda}, torch for CUDA {own}: two sets of CUDA libraries are installed",
            **facts,
        )
        instead = _of_major(name, cuda.major, question)
        if instead is not None:
            text = tr("{problem}; request `{instead}` for one", problem=text, instead=instead)
        yield PlanWarning("package-cuda", text)


def _of_major(name: str, major: int, question: ResolutionInput) -> str | None:
    """Return the member of a project's family for a CUDA major."""
    families = question.knowledge.ecosystem.families
    members = families.asked_for(Requirement(name))
    siblings = families.siblings(members[0]) if members else ()
    return next((member.label for member in siblings if member.cuda == major), None)


def _misleading(known: MisleadingName, solution: Solution) -> str:
    cuda = solution.candidate.cuda
    fitting = (name for name in known.families if cuda is not None and major_in(name) == cuda.major)
    facts = {"name": known.project, "instead": next(fitting, known.instead)}
    match known.what:
        case "another-project":
            return tr("`{name}` on PyPI is another project than most mean: request `{instead}`", **facts)
        case "sources":
            return tr("`{name}` has no wheels for this system on PyPI: request `{instead}`", **facts)
        case "ended":
            return tr("`{name}` on PyPI has ended: request `{instead}`", **facts)


def major_in(name: str) -> int | None:
    """Return the CUDA major that a name ends in: 12 of `cupy-cuda12x`."""
    match = _OF_CUDA.search(name)
    return int(match[1]) if match and match.end() == len(name) else None
