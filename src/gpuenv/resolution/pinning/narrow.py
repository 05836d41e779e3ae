"""A question that only admits the torch that a release requires."""

from __future__ import annotations

from itertools import combinations

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv.knowledge.ecosystem import BoundProject
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.pinning.releases import ReleaseChoice
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules.python import runs_on


def built_alike(question: ResolutionInput, project: BoundProject) -> ResolutionInput:
    """Return the question without builds for another CUDA major than the project's wheels are made for."""
    if not project.built_for_pypi:
        return question
    fitting = tuple(item for item in question.candidates if _has_cuda_of_pypi(item, question))
    return replace(question, candidates=fitting)


def _has_cuda_of_pypi(candidate: Candidate, question: ResolutionInput) -> bool:
    if candidate.kind == "pypi" or candidate.variant.is_cpu:
        return True
    variant = question.knowledge.pypi_variant(candidate.torch, question.target.platform)
    own, cuda = candidate.cuda, variant.cuda if variant else None
    return own is not None and cuda is not None and own.major == cuda.major


def narrowed_by(choice: ReleaseChoice, question: ResolutionInput) -> ResolutionInput | None:
    """Return the question with what a release requires of the torch stack; None where nothing is left.

    A companion that was not asked for comes along where one goes with the build: else it is the resolver's.
    """
    request = question.request
    pythons = tuple(
        offer for offer in question.pythons if any(runs_on(file, offer) for file in choice.release.files)
    )
    stack = ("torch", *request.companions)
    asked = tuple(item for item in choice.requires if canonicalize_name(item.name) in stack)
    beside = tuple(item for item in choice.requires if item not in asked)
    for count in range(len(beside), -1, -1):
        for more in combinations(beside, count):
            wanted = replace(request, requirements=(*request.requirements, *asked, *more))
            narrowed = replace(question, request=wanted, pythons=pythons)
            if decide(narrowed).choices:
                return narrowed
    return None
