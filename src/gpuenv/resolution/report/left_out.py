"""Warnings of what does not come along unasked, and of a build for CUDA in the place of a CPU build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuenv.i18n.messages import tr
from gpuenv.model.plan import CUDA_ON_CPU, PlanWarning
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.report.environment_fixes import may_ask_mirrors
from gpuenv.resolution.request import NUMPY, Request
from gpuenv.resolution.resolve import ResolutionInput, decide


def warn_of_left_out(question: ResolutionInput, solution: Solution) -> tuple[PlanWarning, ...]:
    """Say in one line what is left out, why, and which command brings it."""
    reasons = {failure.subject: failure.detail for failure in solution.left_out}
    if question.no_numpy is not None:
        reasons[NUMPY] = question.no_numpy
    if not reasons:
        return ()
    facts = {
        "projects": tr(" and ").join(reasons),
        "reasons": "; ".join(dict.fromkeys(reasons.values())),
        "command": _bringing(question, solution, tuple(reasons)).command(),
    }
    text = (
        tr("{projects} was omitted: {reasons}; to require it: `{command}`", **facts)
        if len(reasons) == 1
        else tr("{projects} were omitted: {reasons}; to require them: `{command}`", **facts)
    )
    return (PlanWarning("left-out", text),)


def _bringing(question: ResolutionInput, solution: Solution, projects: Sequence[str]) -> Request:
    """Return the request with which what is left out would come, as far as that is known here."""
    typed = question.request.typed(*projects, "torchvision")
    free = replace(typed, python=None).with_option("--python")
    from_folder = solution.torch.listing.source.kind == "directory"
    is_elsewhere = NUMPY in projects or (typed.offline and from_folder)
    for request in () if is_elsewhere else (typed, free):
        if decide(question.with_request(request)).choices:
            return request
    if typed.offline:
        return typed.with_option("--offline")
    return typed.with_option("--mirror", "auto") if may_ask_mirrors(typed) else typed


def warn_of_cuda_on_cpu(question: ResolutionInput, solution: Solution) -> PlanWarning:
    """Say that a build for CUDA stands in for a CPU build, and where that would be."""
    facts = {"build": solution.candidate.label, "page": question.cpu_index}
    text = tr(
        "no CPU build can be reached: {build} runs on the CPU too, but is far larger with its dependencies",
        **facts,
    )
    if question.cpu_index:
        text += tr(
            "; the CPU build is on {page}: make that reachable, or give a mirror or a wheelhouse "
            "with it (--mirror, --find-links)",
            **facts,
        )
    return PlanWarning(CUDA_ON_CPU, text)
