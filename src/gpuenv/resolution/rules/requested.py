"""Rule `request`: what the user asked for."""

from __future__ import annotations

from functools import cache

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.request import Request
from gpuenv.resolution.target import Target


def version_of(candidate: Candidate) -> Version:
    """Return the version as the file carries it: with a local part on the PyTorch index."""
    if candidate.accelerated is not None and candidate.files:
        return candidate.files[0].file.version
    return (
        _with_local(candidate.torch, str(candidate.variant))
        if candidate.kind == "pytorch"
        else candidate.torch
    )


@cache
def _with_local(torch: Version, variant: str) -> Version:
    return Version(f"{torch.public}+{variant}")


def in_question(candidate: Candidate, request: Request, target: Target) -> bool:
    """Whether the build is of the kind that is looked for: a GPU's, unless CPU was asked or there is none.

    This is the promise that a CPU build is never chosen by surprise.
    """
    if candidate.accelerated is not None:
        return True  # those of the target's kind alone are collected
    if not candidate.variant.is_cuda_or_cpu:
        return False
    if request.accelerator is not None:
        return candidate.variant.is_cpu == (request.accelerator == "cpu")
    if request.runs_cuda_on_cpu:
        return not (candidate.variant.is_cpu or target.gpus)
    return candidate.variant.is_cpu != bool(target.gpus)


def check(candidate: Candidate, request: Request) -> tuple[Failure, ...]:
    """Return a failure for a version or a variant that was not asked for."""
    failures: tuple[Failure, ...] = ()
    if not request.admits("torch", version_of(candidate)):
        specifier = request.specifier("torch")
        detail = (
            tr("{build} is not torch{specifier}", build=candidate.label, specifier=specifier)
            if specifier
            else tr("{build} is a pre-release, which was not requested", build=candidate.label)
        )
        failures += (Failure(rule="request", kind="torch", detail=detail, source="the request"),)
    if request.variant is not None and candidate.variant != request.variant:
        detail = tr("{build} is not for {variant}", build=candidate.label, variant=request.variant)
        failures += (Failure(rule="request", kind="variant", detail=detail, source="option --cuda"),)
    return failures
