"""Rule `companion`, for projects whose wheels are made for one torch: PyG's, flash-attn, mmcv and their kin.

PyPI has their sources alone. A wheel fits if the page that lists it, or its local version, is for the torch
release, its CUDA and its C++ ABI, and if it has code for every GPU.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.ecosystem import BoundProject, Minor, WheelSet, minor_of
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Because
from gpuenv.model.variant import Variant
from gpuenv.resolution.candidate import Candidate, IndexedFile
from gpuenv.resolution.request import Request, admits
from gpuenv.resolution.rules import gpu_code
from gpuenv.resolution.rules.companion_failures import (
    AvailableCompanions,
    CompanionFailure,
    CompanionMatch,
    companion_failure,
)
from gpuenv.resolution.target import Target, TargetGpu

_PYG = re.compile(r"pt(\d)(\d{1,2})(cpu|cu\d{2,3})")
_FLASH = re.compile(r"(cu\d{2,3})torch(\d{1,2})\.(\d{1,3})(?:cxx11abi(true|false))?(?:git[0-9a-f]+)?")
_PLAIN = re.compile(r"cpu|cu\d{2,3}")
_MAJOR_ALONE = re.compile(r"cu(1\d)")  # `cu92` is CUDA 9.2, `cu12` is any CUDA 12


class Binding(Struct, frozen=True):
    """The torch that a wheel was made for, None where its name does not tell; `cxx11` is the C++ ABI."""

    torch: Minor | None
    variant: str
    cxx11: bool | None = None


def parse_binding(local: str) -> Binding:
    """Parse the local version of a wheel bound to torch, in lower case; raise ValueError for any other.

    pt211cu128                        torch_scatter-2.1.2+pt211cu128-cp312-cp312-linux_x86_64.whl
    cu12torch2.8cxx11abitrue          flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl
    cu121                             dgl-2.4.0+cu121-cp312-cp312-manylinux1_x86_64.whl
    """
    if match := _PYG.fullmatch(local):
        return Binding((int(match[1]), int(match[2])), match[3])
    if match := _FLASH.fullmatch(local):
        cxx11 = None if match[4] is None else match[4] == "true"
        return Binding((int(match[2]), int(match[3])), match[1], cxx11)
    if _PLAIN.fullmatch(local):
        return Binding(None, local)
    raise ValueError(tr("`{local}` contains neither torch nor CUDA", local=local))


def fits_cuda(bound: str, variant: Variant, *, loose: bool) -> bool:
    """Whether what was made for `bound` goes with torch's variant; `loose`: any CUDA of its major does."""
    if bound == str(variant):
        return True
    if variant.cuda is None:
        return False
    alone = _MAJOR_ALONE.fullmatch(bound)
    if alone:
        return int(alone[1]) == variant.cuda.major
    own = Variant(bound).cuda
    return loose and own is not None and own.major == variant.cuda.major


_REMOTE = ("https://", "http://")
_CLEAN = re.compile(r"[!-~]+")
ORIGIN = "matrix ecosystem.json"  # of the pages that the matrix names: all others are the user's


class _Query(Struct, frozen=True):
    """One project beside one build of torch."""

    project: BoundProject
    candidate: Candidate
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
    candidate: Candidate,
    request: Request,
    target: Target,
    knowledge: Knowledge,
    available: AvailableCompanions,
) -> tuple[CompanionMatch, ...] | CompanionFailure:
    """Return, for each project, the wheels that go with the build, the best first.

    Returns what is wrong with the first project that has none. One that PyPI has wheels of is left to the
    resolver: there is nothing to say of it but that a GPU is too old.
    """
    matches = []
    for name in request.requested_extensions:
        project = knowledge.ecosystem.project(name)
        if project is None:
            continue
        companion_match = _match_one(_Query(project, candidate, request, target, knowledge), available)
        if isinstance(companion_match, CompanionFailure):
            return companion_match
        matches += [companion_match] if companion_match else []
    return tuple(matches)


def _match_one(query: _Query, available: AvailableCompanions) -> CompanionMatch | CompanionFailure | None:
    detail = _too_old(query.project, query.request, query.target)
    if detail:
        return _failure(query, "gpu", detail)
    if query.project.gpu_only and query.candidate.cuda is None:
        return _failure(query, "cpu", _no_gpu_of_its(query.name, query.target))
    wheels = query.knowledge.ecosystem.set_of(query.name)
    if wheels is None:
        return None
    fitting = [item for item in available.all_of(query.name) if _fits(item, query, wheels)]
    able = [item for item in fitting if _lacking(item, query) is None]
    if fitting and not able:
        return _no_code(fitting[0], query)
    if not able:
        return _no_wheel(query, wheels, available)
    able.sort(key=lambda item: item.order)
    able.sort(key=lambda item: item.release, reverse=True)
    return CompanionMatch(query.name, tuple(_for_variant(item, query.candidate) for item in able))


def unfit(request: Request, target: Target, knowledge: Knowledge) -> tuple[Because, ...]:
    """Say which projects do not run here with whatever torch: for want of a GPU, or of a newer one."""
    projects = filter(None, map(knowledge.ecosystem.project, request.requested_extensions))
    results = (
        (project, _too_old(project, request, target) or _alone(project, request, target))
        for project in projects
    )
    return tuple(Because(detail, _source(project)) for project, detail in results if detail)


def _too_old(project: BoundProject, request: Request, target: Target) -> str | None:
    least = project.least if project.least_counts(request.specifier(project.name)) else None
    gpu = next((target_gpu for target_gpu in target.gpus if least and target_gpu.capability < least), None)
    if gpu is None:
        return None
    facts = {"project": project.name, "least": least, "gpu": gpu.label}
    return tr("{project} needs compute capability {least} or newer; {gpu} is older", **facts)


def _alone(project: BoundProject, request: Request, target: Target) -> str | None:
    """Say that a project wants a GPU, where none is there and no CUDA build was asked for all the same."""
    if not project.gpu_only or target.gpus or (request.variant is not None and not request.variant.is_cpu):
        return None
    return _no_gpu_of_its(project.name, target)


def _no_gpu_of_its(name: str, target: Target) -> str:
    if target.devices:
        return tr("{project} has wheels for NVIDIA GPUs only", project=name)
    return tr("{project} runs on GPUs only", project=name)


def _fits(item: IndexedFile, query: _Query, wheels: WheelSet) -> bool:
    if not admits(query.request.specifier(query.name), item.file.version) or _is_unclean(item.file.url):
        return False
    binding = binding_of(item)
    candidate, own = query.candidate, is_own(item)
    if own and not wheels.by_version and item.listing.source.url != page_for(wheels, candidate):
        return False
    if binding is None:
        return not wheels.by_version if own else item.file.variant in (None, candidate.variant)
    # others, who name no ABI, build for one CUDA release
    loose = wheels.match == "major" and (own or binding.cxx11 is not None)
    return (
        binding.torch in (None, minor_of(candidate.torch))
        and fits_cuda(binding.variant, candidate.variant, loose=loose)
        and _fits_abi(binding, query)
    )


def _is_unclean(url: str) -> bool:
    """Whether an address would end early in a requirement: at a blank, or at what does not print."""
    return url.startswith(_REMOTE) and _CLEAN.fullmatch(url) is None


def _fits_abi(binding: Binding, query: _Query) -> bool:
    if query.target.platform == "win-64" or binding.cxx11 is None:
        return True
    of_torch = query.knowledge.ecosystem.cxx11_abi(query.candidate.torch, query.candidate.variant)
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
    is_bound = name in request.extensions and knowledge.ecosystem.set_of(name) is not None
    return is_bound and item.file.url.startswith(_REMOTE)


def page_for(wheels: WheelSet, candidate: Candidate, version: str = "") -> str:
    """Return the page for a build of torch, and, where the pages go by them, for a release of the project."""
    major, minor = minor_of(candidate.torch)
    return wheels.page.format(torch=f"{major}.{minor}", variant=candidate.variant, version=version)


def _for_variant(item: IndexedFile, candidate: Candidate) -> IndexedFile:
    return replace(item, file=replace(item.file, variant=candidate.variant))


def _lacking(item: IndexedFile, query: _Query) -> TargetGpu | None:
    """The first GPU that a project's own wheel has no code for."""
    cuda = query.candidate.cuda
    code = query.knowledge.ecosystem.architectures(query.name, item.release) if is_own(item) else ()
    if not code or cuda is None:
        return None
    return next(
        (gpu for gpu in query.target.gpus if gpu_code.code_in(code, cuda, gpu, query.knowledge) is None), None
    )


def _no_code(item: IndexedFile, query: _Query) -> CompanionFailure:
    gpu = _lacking(item, query) or query.target.gpus[0]
    code = query.knowledge.ecosystem.architectures(query.name, item.release)
    detail = tr(
        "{project} {versions} has code for {list}, none of which runs on {gpu}",
        project=query.name,
        versions=item.release,
        list=" ".join(map(str, code)),
        gpu=gpu.label,
    )
    return _failure(query, "code", detail, gpu=gpu.label)


def _no_wheel(query: _Query, wheels: WheelSet, available: AvailableCompanions) -> CompanionFailure:
    down = available.down.get(query.name)
    if down is not None and down.source.name == wheels.name:
        problem = down.problem or ""
        detail = tr(
            "{page}, where wheels of {project} may be, could not be read ({problem})",
            page=down.page,
            project=query.name,
            problem=problem,
        )
        return _failure(query, "down", detail, unread_page=down.page, problem=problem)
    facts = {"project": query.wanted, "build": query.candidate.label}
    return _failure(query, "wheel", tr("no wheel of {project} is known for {build}", **facts))


def _failure(query: _Query, kind: str, detail: str, **facts: str) -> CompanionFailure:
    failure = companion_failure(query.name, query.candidate, kind, detail, **facts)
    return replace(failure, source=_source(query.project))


def _source(project: BoundProject) -> str:
    return f"{ORIGIN}: {project.source}"
