"""Rule `companion`, for wheels that there are for each CUDA major: `cupy-cuda12x`, `jax[cuda13]`, `tensorrt`.

The driver and the GPUs must run what is asked for. Where it shares its CUDA libraries with torch, torch must
be for the same CUDA; a project whose releases are for several is bound to those for torch's.
"""

from __future__ import annotations

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.families import Clash, FamilyMember
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.version_ranges import lies_apart, lies_within
from gpuenv.model.errors import Because
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.request import Request
from gpuenv.resolution.requirement_index import index_of
from gpuenv.resolution.rules import driver
from gpuenv.resolution.target import Target, TargetGpu, driver_os

UNFIT, CLASH = "family-unfit", "family-clash"
_PYTHON = "3.12.0"  # for markers: what is asked for on one Python alone is asked for


class FamilyWish(Struct, frozen=True):
    """A requirement that is for one CUDA major or another: `members` are the releases that it admits."""

    requirement: Requirement
    members: tuple[FamilyMember, ...]

    @property
    def label(self) -> str:
        """What is asked for: `cupy-cuda12x`, `jax[cuda12]`."""
        return self.members[0].label

    def bound_to(self, member: FamilyMember) -> Requirement | None:
        """Return the requirement for a member's releases alone; None where it admits no others."""
        if len({other.cuda for other in self.members}) == 1:
            return None
        asked = self.requirement.specifier
        if lies_within(asked, member.versions):
            return None
        bounded = Requirement(str(self.requirement))
        bounded.specifier = (
            member.versions if lies_within(member.versions, asked) else asked & member.versions
        )
        return bounded


def wishes_of(request: Request, target: Target, knowledge: Knowledge) -> tuple[FamilyWish, ...]:
    """Return the requirements that are about a CUDA major; none where no GPU counts, none by address."""
    families = knowledge.ecosystem.families
    asked = index_of(request.to_resolve).of
    names = families.projects & asked.keys()
    if not names or not target.gpus:
        return ()
    environment = marker_environment(target.platform, _PYTHON)
    return tuple(
        FamilyWish(item, members)
        for name in sorted(names)
        for item in asked[name]
        if item.url is None
        and (item.marker is None or item.marker.evaluate(environment))
        and (members := families.asked_for(item))
    )


def check(
    candidate: Candidate, request: Request, target: Target, knowledge: Knowledge
) -> tuple[Failure, ...]:
    """Return a failure for each requirement that does not run here, or not beside the build."""
    if candidate.cuda is None:
        return ()
    wishes = wishes_of(request, target, knowledge)
    failures = (_failure(wish, candidate, target, knowledge) for wish in wishes)
    return tuple(failure for failure in failures if failure)


def _failure(wish: FamilyWish, candidate: Candidate, target: Target, knowledge: Knowledge) -> Failure | None:
    obstacles = [_obstacle(member, target, knowledge) for member in wish.members]
    if all(obstacles):
        obstacle = obstacles[-1] or Because("", "")
        source = f"matrix ecosystem.json: {wish.members[-1].source}; {obstacle.source}"
        return Failure(rule="companion", kind=UNFIT, subject=wish.label, detail=obstacle.text, source=source)
    if fitting(wish, candidate, target, knowledge) is None:
        member = wish.members[-1]
        return Failure(
            rule="companion",
            kind=CLASH,
            subject=wish.label,
            detail=_clashing(member, member.clash, candidate),
            source=f"matrix ecosystem.json: {member.source}",
        )
    return None


def fitting(
    wish: FamilyWish, candidate: Candidate, target: Target, knowledge: Knowledge
) -> FamilyMember | None:
    """Return the member to take beside a build: for its CUDA major, else the newest that runs beside it."""
    running = [member for member in wish.members if runs(member, target, knowledge)]
    beside = [member for member in running if is_beside(member, candidate)]
    return max(beside, key=lambda member: (is_for(member, candidate), member.cuda), default=None)


def is_beside(member: FamilyMember, candidate: Candidate) -> bool:
    """Whether both can be in one environment; conda's torch has CUDA libraries of conda's."""
    return member.clash is None or candidate.kind == "conda" or is_for(member, candidate)


def is_for(member: FamilyMember, candidate: Candidate) -> bool:
    """Whether both are for one CUDA major."""
    return candidate.cuda is not None and candidate.cuda.major == member.cuda


def runs(member: FamilyMember, target: Target, knowledge: Knowledge) -> bool:
    """Whether the drivers and the GPUs of a target run a CUDA major."""
    return _obstacle(member, target, knowledge) is None


def _obstacle(member: FamilyMember, target: Target, knowledge: Knowledge) -> Because | None:
    results = (_driver_obstacle(member, gpu, target, knowledge) for gpu in target.gpus)
    others = (_gpu_obstacle(member, gpu, knowledge) for gpu in target.gpus)
    return next(filter(None, (*results, *others)), None)


def _driver_obstacle(
    member: FamilyMember, gpu: TargetGpu, target: Target, knowledge: Knowledge
) -> Because | None:
    cuda = CudaVersion(member.cuda, 0)
    floor = driver.least_driver(cuda, driver_os(gpu.machine), knowledge)
    if gpu.machine.driver is None or floor is None or driver.runs(cuda, gpu.machine, knowledge):
        return None
    text = tr(
        "`{name}` is for CUDA {cuda}, which needs driver {floor} or newer; {place} has {driver}",
        name=member.label,
        cuda=member.cuda,
        floor=floor.version,
        place=target.machine_label,
        driver=gpu.machine.driver.version,
    )
    return Because(text, f"{floor.source}; {gpu.machine.source_of('driver.version')}")


def _gpu_obstacle(member: FamilyMember, gpu: TargetGpu, knowledge: Knowledge) -> Because | None:
    support = knowledge.architecture_of(gpu.capability)
    if support is None:
        return None
    facts = {"name": member.label, "cuda": member.cuda, "gpu": gpu.label}
    if support.first_cuda.major > member.cuda:
        text = tr("`{name}` is for CUDA {cuda}, which is older than {gpu}", **facts)
    elif support.last_cuda is not None and support.last_cuda.major < member.cuda:
        text = tr("`{name}` is for CUDA {cuda}, which no longer supports {gpu}", **facts)
    else:
        return None
    return Because(text, f"{support.source}; {gpu.source}")


def _clashing(member: FamilyMember, clash: Clash | None, candidate: Candidate) -> str:
    own = candidate.cuda.major if candidate.cuda else None
    facts = {"name": member.label, "cuda": member.cuda, "own": own}
    if clash == "files":
        template = tr(
            "`{name}` brings CUDA {cuda} libraries that are files of torch's for CUDA {own}, too", **facts
        )
    elif clash == "libraries":
        template = tr("`{name}` for CUDA {cuda} cannot load the libraries of torch for CUDA {own}", **facts)
    else:
        template = tr("`{name}` requires packages of CUDA {cuda} that torch requires of CUDA {own}", **facts)
    return template


class FamilyBound(Struct, frozen=True):
    """A requirement for releases of several CUDA majors, and what is asked for instead."""

    requirement: Requirement
    bounded: Requirement
    because: Because


def bounds(
    request: Request, candidate: Candidate, target: Target, knowledge: Knowledge
) -> tuple[FamilyBound, ...]:
    """Return what is asked for of projects whose releases are for several CUDA majors."""
    if candidate.cuda is None:
        return ()
    results = []
    for wish in wishes_of(request, target, knowledge):
        member = fitting(wish, candidate, target, knowledge)
        bounded = wish.bound_to(member) if member else None
        if member and bounded:
            facts = {"text": bounded, "cuda": member.cuda}
            text = tr("`{text}`: its other releases are for another CUDA than {cuda}", **facts)
            because = Because(text, f"matrix ecosystem.json: {member.source}")
            results.append(FamilyBound(wish.requirement, bounded, because))
    return tuple(results)


def in_place_of(wish: FamilyWish, sibling: FamilyMember, knowledge: Knowledge) -> Requirement:
    """Return the requirement on another of the family, in the releases asked for where it has them."""
    replaced = Requirement(str(wish.requirement))
    own = {member.extra for member in wish.members if member.extra}
    extras = {extra for extra in replaced.extras if canonicalize_name(extra) not in own}
    replaced.name = sibling.project
    replaced.extras = {*extras, *([sibling.extra] if sibling.extra else [])}
    is_several = knowledge.ecosystem.families.is_for_several(sibling.project)
    if is_several or lies_apart(replaced.specifier, sibling.versions):
        replaced.specifier = sibling.versions if is_several else SpecifierSet()
    return replaced
