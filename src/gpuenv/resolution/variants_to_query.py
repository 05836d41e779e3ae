"""Which variants are worth asking an index for, by what is known of the builds."""

from __future__ import annotations

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.collect import collect_candidates
from gpuenv.resolution.request import Request
from gpuenv.resolution.rules import bundled_libraries as library
from gpuenv.resolution.rules import driver
from gpuenv.resolution.rules import gpu_code as kernels
from gpuenv.resolution.rules import requested as request_rule
from gpuenv.resolution.target import Target


def builds_worth_asking(
    request: Request, target: Target, knowledge: Knowledge, others: tuple[Target, ...] = ()
) -> tuple[Candidate, ...]:
    """Return the PyTorch index's builds that the request admits and that would run, newest torch first.

    With `others`, targets of the same platform, they would run on one of them at least.
    """
    candidates = [
        candidate
        for candidate in collect_candidates((), target, knowledge)
        if candidate.kind == "pytorch"
        and any(_would_run(candidate, request, location, knowledge) for location in (target, *others))
    ]
    return tuple(
        sorted(
            candidates,
            key=lambda candidate: (candidate.torch, candidate.cuda is not None, candidate.cuda),
            reverse=True,
        )
    )


def _would_run(candidate: Candidate, request: Request, target: Target, knowledge: Knowledge) -> bool:
    return request_rule.in_question(candidate, request, target) and not (
        request_rule.check(candidate, request)
        or driver.check(candidate, target, knowledge)
        or kernels.check(candidate, target, knowledge)
        or library.check(candidate, target, knowledge)
    )
