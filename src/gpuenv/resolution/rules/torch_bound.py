"""Rule `companion`, for projects whose wheels are made for one torch: PyG's, flash-attn, mmcv and their kin.

PyPI has their sources alone. A wheel fits if the page that lists it, or its local version, is for the torch
release, its CUDA and its C++ ABI, and if it has code for every GPU.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.ecosystem import BoundProject, WheelSet, minor_of
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Because
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.request import Request, admits
from gpuenv.resolution.rules import gpu_code as kernels
from gpuenv.resolution.rules.companion import AvailableCompanions, CompanionMatch
from gpuenv.resolution.target import Target, TargetGpu
from gpuenv.resolution.torch_bound_tags import Binding, fits_cuda, parse_binding

_REMOTE = ("https://", "http://")
_CLEAN = re.compile(r"[!-~]+")
ORIGIN = "matrix ecosystem.json"  # of the pages that the matrix names: all others are the user's


@dataclass(frozen=True, slots=True)
class _Asked:
    """One project beside one build of torch."""

    project: BoundProject
    case: Candidate
    request: Request
    target: Target
    knowledge: Knowledge

    @property
    def name(self) -> str:
        return self.project.name

    @property
    def wanted(self) -> str:
        return f"{self.name}{self.request.specifier(self.name)}"


def match(
    case: Candidate, request: Request, target: Target, knowledge: Knowledge, shelf: AvailableCompanions
) -> tuple[CompanionMatch, ...] | Failure:
    """Return, for each project, the wheels that go with the build, the best first.

    Returns what is wrong with the first project that has none. One that PyPI has wheels of is left to the
    resolver: there is nothing to say of it but that a GPU is too old.
    """
    matches = []
    for name in request.asked_bound:
        project = knowledge.ecosystem.project(name)
        if project is None:
            continue
        found = _match_one(_Asked(project, case, request, target, knowledge), shelf)
        if isinstance(found, Failure):
            return found
        matches += [found] if found else []
    return tuple(matches)


def _match_one(asked: _Asked, shelf: AvailableCompanions) -> CompanionMatch | Failure | None:
    detail = _too_old(asked.project, asked.request, asked.target)
    if detail:
        return _failure(asked, "gpu", detail)
    if asked.project.gpu_only and asked.case.cuda is None:
        return _failure(asked, "cpu", tr("{project} runs on GPUs alone", project=asked.name))
    wheels = asked.knowledge.ecosystem.set_of(asked.name)
    if wheels is None:
        return None
    fitting = [item for item in shelf.all_of(asked.name) if _fits(item, asked, wheels)]
    able = [item for item in fitting if _lacking(item, asked) is None]
    if fitting and not able:
        return _no_code(fitting[0], asked)
    if not able:
        return _no_wheel(asked, wheels, shelf)
    able.sort(key=lambda item: item.order)
    able.sort(key=lambda item: item.release, reverse=True)
    return CompanionMatch(asked.name, tuple(_for_variant(item, asked.case) for item in able))


def unfit(request: Request, target: Target, knowledge: Knowledge) -> tuple[Because, ...]:
    """Say which projects do not run here with whatever torch: for want of a GPU, or of a newer one."""
    projects = filter(None, map(knowledge.ecosystem.project, request.asked_bound))
    found = (
        (project, _too_old(project, request, target) or _alone(project, request, target))
        for project in projects
    )
    return tuple(Because(detail, _source(project)) for project, detail in found if detail)


def _too_old(project: BoundProject, request: Request, target: Target) -> str | None:
    least = project.least if project.least_counts(request.specifier(project.name)) else None
    gpu = next((one for one in target.gpus if least and one.capability < least), None)
    if gpu is None:
        return None
    facts = {"project": project.name, "least": least, "gpu": gpu.label}
    return tr("{project} needs compute capability {least} or newer; {gpu} is older", **facts)


def _alone(project: BoundProject, request: Request, target: Target) -> str | None:
    """Say that a project wants a GPU, where none is there and no CUDA build was asked for all the same."""
    if not project.gpu_only or target.gpus or (request.variant is not None and not request.variant.is_cpu):
        return None
    return tr("{project} runs on GPUs alone", project=project.name)


def _fits(item: IndexedFile, asked: _Asked, wheels: WheelSet) -> bool:
    if not admits(asked.request.specifier(asked.name), item.file.version) or _is_unclean(item.file.url):
        return False
    binding = binding_of(item)
    case, own = asked.case, is_own(item)
    if own and not wheels.by_version and item.listing.source.url != page_for(wheels, case):
        return False
    if binding is None:
        return not wheels.by_version if own else item.file.variant in (None, case.variant)
    # others, who name no ABI, build for one CUDA release
    loose = wheels.match == "major" and (own or binding.cxx11 is not None)
    return (
        binding.torch in (None, minor_of(case.torch))
        and fits_cuda(binding.variant, case.variant, loose=loose)
        and _fits_abi(binding, asked)
    )


def _is_unclean(url: str) -> bool:
    """Whether an address would end early in a requirement: at a blank, or at what does not print."""
    return url.startswith(_REMOTE) and _CLEAN.fullmatch(url) is None


def _fits_abi(binding: Binding, asked: _Asked) -> bool:
    if asked.target.platform == "win-64" or binding.cxx11 is None:
        return True
    of_torch = asked.knowledge.ecosystem.cxx11_abi(asked.case.torch, asked.case.variant)
    return of_torch in (None, binding.cxx11)


def binding_of(item: IndexedFile) -> Binding | None:
    """Return the torch that the name of a wheel tells, if it does."""
    try:
        return parse_binding(item.file.version.local or "")
    except ValueError:
        return None


def is_own(item: IndexedFile) -> bool:
    """Whether a wheel lies on a page that the matrix names."""
    return item.listing.source.origin == ORIGIN


def is_by_address(item: IndexedFile, request: Request, knowledge: Knowledge) -> bool:
    """Whether a chosen file must be named by its address.

    pip refuses a wheel whose name alone has a local version (flash-attn), and a version alone would not tell
    wheels for one torch from those for another (mmcv).
    """
    name = str(item.file.name)
    is_bound = name in request.bound and knowledge.ecosystem.set_of(name) is not None
    return is_bound and item.file.url.startswith(_REMOTE)


def page_for(wheels: WheelSet, case: Candidate, version: str = "") -> str:
    """Return the page for a build of torch, and, where the pages go by them, for a release of the project."""
    major, minor = minor_of(case.torch)
    return wheels.page.format(torch=f"{major}.{minor}", variant=case.variant, version=version)


def _for_variant(item: IndexedFile, case: Candidate) -> IndexedFile:
    return replace(item, file=replace(item.file, variant=case.variant))


def _lacking(item: IndexedFile, asked: _Asked) -> TargetGpu | None:
    """The first GPU that a project's own wheel has no code for."""
    cuda = asked.case.cuda
    code = asked.knowledge.ecosystem.architectures(asked.name, item.release) if is_own(item) else ()
    if not code or cuda is None:
        return None
    return next(
        (gpu for gpu in asked.target.gpus if kernels.code_in(code, cuda, gpu, asked.knowledge) is None), None
    )


def _no_code(item: IndexedFile, asked: _Asked) -> Failure:
    gpu = _lacking(item, asked) or asked.target.gpus[0]
    code = asked.knowledge.ecosystem.architectures(asked.name, item.release)
    detail = tr(
        "{project} {versions} has code for {list}, none of which runs on {gpu}",
        project=asked.name,
        versions=item.release,
        list=" ".join(map(str, code)),
        gpu=gpu.label,
    )
    return _failure(asked, "code", detail, ("gpu", gpu.label))


def _no_wheel(asked: _Asked, wheels: WheelSet, shelf: AvailableCompanions) -> Failure:
    down = shelf.down.get(asked.name)
    if down is not None and down.source.name == wheels.name:
        facts = {"page": down.page, "problem": down.problem or ""}
        detail = tr(
            "{page}, where wheels of {project} may be, could not be read ({problem})",
            project=asked.name,
            **facts,
        )
        return _failure(asked, "down", detail, *facts.items())
    facts = {"project": asked.wanted, "build": asked.case.label}
    return _failure(asked, "wheel", tr("no wheel of {project} is known for {build}", **facts))


def _failure(asked: _Asked, what: str, detail: str, *facts: tuple[str, str]) -> Failure:
    case = asked.case
    named = (("project", asked.name), ("torch", str(case.torch)), ("variant", str(case.variant)))
    key = ("companion", asked.name, what)
    return Failure("companion", key, detail, _source(asked.project), (*named, *facts))


def _source(project: BoundProject) -> str:
    return f"{ORIGIN}: {project.source}"
