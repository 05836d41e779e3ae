"""A build judged by what is asked for and by the machines, and what must go with it."""

from __future__ import annotations

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.request import Request
from gpuenv.resolution.rules import (
    bundled_libraries,
    companion,
    driver,
    family,
    gpu_code,
    requested,
    torch_bound,
)
from gpuenv.resolution.rules.companion_failures import AvailableCompanions, CompanionMatch
from gpuenv.resolution.target import Target


def judge_build(
    candidate: Candidate, request: Request, target: Target, knowledge: Knowledge
) -> tuple[Failure, ...]:
    """Return what is wrong with a build: the rules of CUDA, or those of another accelerator's kind."""
    asked = requested.check(candidate, request)
    if candidate.accelerated is not None:
        from gpuenv.resolution.rules import accelerators  # noqa: PLC0415 - for such builds alone

        own = accelerators.check(candidate, target, knowledge)
        return asked + own + family.check(candidate, request, target, knowledge)
    return (
        asked
        + driver.check(candidate, target, knowledge)
        + gpu_code.check(candidate, target, knowledge)
        + bundled_libraries.check(candidate, target, knowledge)
        + family.check(candidate, request, target, knowledge)
    )


def match_beside(
    candidate: Candidate,
    request: Request,
    target: Target,
    knowledge: Knowledge,
    available: AvailableCompanions,
) -> tuple[CompanionMatch, ...] | Failure:
    """Return the files of all that must go with a build, or what is wrong with the first that has none."""
    companions = companion.match(candidate, request, target, knowledge, available)
    if isinstance(companions, Failure):
        return companions
    bound = torch_bound.match(candidate, request, target, knowledge, available)
    if isinstance(bound, Failure) or candidate.accelerated is None:
        return bound if isinstance(bound, Failure) else companions + bound
    from gpuenv.resolution.accelerators import plugins  # noqa: PLC0415 - for such builds alone

    plugin = plugins.match(candidate, available)
    return plugin if isinstance(plugin, Failure) else companions + bound + plugin
