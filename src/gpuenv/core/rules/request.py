"""Rule `request`: what the user asked for."""

from __future__ import annotations

from packaging.version import Version

from gpuenv.core.case import Case, Failure
from gpuenv.core.request import Request
from gpuenv.core.target import Target
from gpuenv.values.text import tr


def version_of(case: Case) -> Version:
    """Return the version as the file carries it: with a local part on the PyTorch index."""
    return Version(f"{case.torch.public}+{case.variant}") if case.kind == "pytorch" else case.torch


def in_question(case: Case, request: Request, target: Target) -> bool:
    """Whether the build is of the kind that is looked for: a GPU's, unless the CPU was asked or is all there is.

    This is the promise that a CPU build is never chosen by surprise.
    """
    if not case.variant.is_known:
        return False
    if request.variant is not None:
        return case.variant.is_cpu == request.variant.is_cpu
    return case.variant.is_cpu != bool(target.gpus)


def check(case: Case, request: Request) -> tuple[Failure, ...]:
    """Return a failure for a version or a variant that was not asked for."""
    failures = []
    specifier = request.specifier("torch")
    if not specifier.contains(version_of(case)):
        failures.append(
            Failure(
                "request",
                ("request", "torch"),
                tr("{build} is not torch{specifier}", build=case.label, specifier=specifier),
                "the request",
            )
        )
    if request.variant is not None and case.variant != request.variant:
        failures.append(
            Failure(
                "request",
                ("request", "variant"),
                tr("{build} is not for {variant}", build=case.label, variant=request.variant),
                "option --cuda",
            )
        )
    return tuple(failures)


def sentence(failures: tuple[Failure, ...]) -> str:
    return failures[0].detail
