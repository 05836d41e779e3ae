"""Wheels for a CUDA major that move with torch: `cupy-cuda11x` becomes `cupy-cuda12x`, `tensorrt` is bound.

CUDA libraries of torch's own for another CUDA (`nvidia-cublas-cu11`, from an export) go: it brings them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.adapt.model import RequirementChange, changed_line
from gpuenv.adapt.nearest.known_bad_dependencies import ConflictingPin, Settled, with_moved
from gpuenv.adapt.nearest.request import Wishes
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.families import FamilyMember
from gpuenv.model.errors import Because
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.report.package_names import major_in
from gpuenv.resolution.request import Request
from gpuenv.resolution.requirement_index import index_of
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import family

_OF_NVIDIA = "nvidia-"


def without_families(request: Request, question: ResolutionInput) -> Request:
    """Return the request without what is for a CUDA major: it moves with torch, and rules out none."""
    projects = tuple(sorted(question.knowledge.ecosystem.families.projects))
    return replace(request, requirements=index_of(request.requirements).without(projects))


def with_families(settled: Settled, question: ResolutionInput, wishes: Wishes) -> Settled:
    """Return the choice with what becomes of wheels for a CUDA major; conda's packages are none."""
    candidate = settled.solution.candidate
    if candidate.cuda is None:
        return settled
    brought = _brought_by_torch(candidate, settled.request, question)
    gone = {pin.project for pin in brought}
    request, moved = settled.request, settled.moved
    for wish in family.wishes_of(request, question.target, question.knowledge):
        project = wish.members[0].project
        if project not in gone and any(line.notation != "conda" for line in wishes.lines.get(project, ())):
            pin = _moved(wish, candidate, question)
            brought = (*brought, *([pin] if pin else []))
    for pin in brought:
        request, moved = with_moved(request, pin), (*moved, pin)
    return replace(settled, request=request, moved=moved)


def renamed(moved: tuple[ConflictingPin, ...], wishes: Wishes) -> Iterator[RequirementChange]:
    """Yield the changes of lines that become another project's, or go; poetry's key is a new line."""
    for pin in (item for item in moved if item.whole):
        for line in wishes.lines.get(pin.project, ()):
            if line.notation == "pip":
                yield changed_line(line, pin.text, pin.because)
            elif line.notation == "poetry":
                yield changed_line(line, None, pin.because)
                if pin.text:
                    name, because = canonicalize_name(Requirement(pin.text).name), pin.because
                    yield RequirementChange(name, None, None, pin.text, because.text, because.source)


def _moved(wish: family.FamilyWish, candidate: Candidate, question: ResolutionInput) -> ConflictingPin | None:
    target, knowledge = question.target, question.knowledge
    member = family.fitting(wish, candidate, target, knowledge)
    siblings = knowledge.ecosystem.families.siblings(wish.members[0])
    able = [item for item in siblings if _goes_with(item, candidate, question)]
    other = next((item for item in able if family.is_for(item, candidate)), able[0] if able else None)
    if other is None or (
        member is not None and (family.is_for(member, candidate) or member.cuda == other.cuda)
    ):
        bounded = wish.bound_to(member) if member else None
        because = _because(wish, wish.members[-1], candidate)
        return ConflictingPin(wish.members[0].project, str(bounded), because) if bounded else None
    text = str(family.in_place_of(wish, other, knowledge))
    because = _because(wish, wish.members[-1], candidate)
    return ConflictingPin(wish.members[0].project, text, because, whole=True)


def _goes_with(member: FamilyMember, candidate: Candidate, question: ResolutionInput) -> bool:
    return family.runs(member, question.target, question.knowledge) and family.is_beside(member, candidate)


def _because(wish: family.FamilyWish, member: FamilyMember, candidate: Candidate) -> Because:
    facts = {"name": wish.label, "cuda": member.cuda, "torch": candidate.torch, "own": _major(candidate)}
    text = tr("`{name}` is for CUDA {cuda}, torch {torch} for CUDA {own}", **facts)
    return Because(text, f"matrix ecosystem.json: {member.source}")


def _major(candidate: Candidate) -> int | None:
    return candidate.cuda.major if candidate.cuda else None


def _brought_by_torch(
    candidate: Candidate, request: Request, question: ResolutionInput
) -> tuple[ConflictingPin, ...]:
    """Return NVIDIA's libraries for another CUDA, of which torch requires those for its own."""
    asked = [name for name in index_of(request.others).of if name.startswith(_OF_NVIDIA)]
    if not asked:
        return ()
    key = candidate.torch, candidate.variant, question.target.platform, candidate.kind
    requires = map(Requirement, question.knowledge.dependencies.requires_of(*key) or ())
    brought = {str(canonicalize_name(item.name)) for item in requires}
    pins = (_brought(name, brought, candidate) for name in asked)
    return tuple(pin for pin in pins if pin)


def _brought(name: str, brought: Container[str], candidate: Candidate) -> ConflictingPin | None:
    own, major = _major(candidate), major_in(name)
    if major in (None, own):
        return None
    base = name.removesuffix(f"-cu{major}")
    instead = next((item for item in (f"{base}-cu{own}", base) if item in brought), None)
    if instead is None:
        return None
    facts = {"torch": candidate.torch, "needs": instead, "name": name, "cuda": major}
    text = tr("torch {torch} requires {needs}; {name} is for CUDA {cuda}", **facts)
    return ConflictingPin(name, None, Because(text, "matrix dependencies.json"), whole=True)
