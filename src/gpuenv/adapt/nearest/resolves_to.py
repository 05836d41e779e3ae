"""Whether the files as they stand lead an installer to a build, or must say more to do so."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.adapt.nearest.bonds import moved_by_bonds
from gpuenv.adapt.nearest.request import Wishes, is_page_of_torch, variant_in, variant_of_page
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant
from gpuenv.resolution.candidate import Candidate, IndexedFile
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import COMPANIONS, admits
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import python
from gpuenv.resolution.rules.platform_tags import fitting


def resolves_to(solution: Solution, wishes: Wishes, question: ResolutionInput) -> bool:
    """Whether what the files say of torch's build is this one.

    Where torch must move it is about the CUDA alone: the line with its release changes anyway. conda's solver
    looks at the GPU's driver itself, pip takes PyPI's build unless a page or a local version says otherwise.
    """
    candidate = solution.candidate
    if not _is_of_kind(candidate, wishes, question):
        return False
    if is_condas(wishes) or not admits(wishes.of("torch"), candidate.torch):
        return True
    return candidate.torch == _taken(solution, wishes, question)


def is_condas(wishes: Wishes) -> bool:
    """Whether torch is asked of conda."""
    return any(line.notation == "conda" for line in wishes.lines.get("torch", ()))


def _is_of_kind(candidate: Candidate, wishes: Wishes, question: ResolutionInput) -> bool:
    if wishes.variant is not None:
        return candidate.variant == wishes.variant and (candidate.kind != "pypi" or not _is_pips(wishes))
    if is_condas(wishes) or candidate.kind == "conda":
        return True
    if names_mixed_page(wishes):
        return candidate.kind == "pytorch" and candidate.variant == _highest(candidate.torch, question)
    return candidate.kind == "pypi"


def _is_pips(wishes: Wishes) -> bool:
    """Whether pip is told of a variant, by a local version or a page: PyPI's builds have neither."""
    lines = (line for name in ("torch", "index") for line in wishes.lines.get(name, ()))
    return any(line.notation == "pip" and variant_in(line) is not None for line in lines)


def names_mixed_page(wishes: Wishes) -> bool:
    """Whether a page with builds of all variants is named, of which pip takes the highest local version."""
    lines = (line.requirement or line.text for line in wishes.lines.get("index", ()))
    return any(is_page_of_torch(line) and variant_of_page(line) is None for line in lines)


def _highest(torch: Version, question: ResolutionInput) -> Variant | None:
    own = (item for item in question.candidates if item.torch == torch and item.kind == "pytorch")
    builds = (candidate for candidate in own if candidate.files)
    best = max(builds, key=lambda candidate: Version(f"{torch.public}+{candidate.variant}"), default=None)
    return best.variant if best else None


def _taken(solution: Solution, wishes: Wishes, question: ResolutionInput) -> Version | None:
    """Return the release that an installer takes of those asked for: the newest with files.

    A companion that is pinned, or becomes so because it moves, takes its own torch; so does a Python.
    """
    offers = python.admitted(question.pythons, wishes.python)
    if solution.python not in offers:
        offers = (solution.python,)
    candidate = solution.candidate
    moved = moved_by_bonds(candidate, solution.python, question)
    releases = (
        other.torch
        for other in question.candidates
        if other.kind == candidate.kind and (other.kind == "pypi" or other.variant == candidate.variant)
        if admits(wishes.of("torch"), other.torch)
        if _goes_with_pins(other.torch, solution, wishes, question) and _has_file(other, offers, question)
        if any(moved_by_bonds(other, offer, question) == moved for offer in offers)
    )
    return max(releases, default=None)


def _has_file(candidate: Candidate, offers: tuple[PythonOffer, ...], question: ResolutionInput) -> bool:
    files = fitting(candidate.files, question.target)
    return any(python.runs_on(item.file, offer) for item in files for offer in offers)


def _goes_with_pins(torch: Version, solution: Solution, wishes: Wishes, question: ResolutionInput) -> bool:
    """Whether a torch goes with each companion as its line asks for it once the choice is made."""
    paired = question.knowledge.companions_of(torch)
    return all(
        any(admits(wanted, version) for version in paired.get(str(item.file.name), ()))
        for item in solution.companions
        if item.file.name in COMPANIONS and (wanted := _asked_then(item, wishes))
    )


def _asked_then(item: IndexedFile, wishes: Wishes) -> SpecifierSet:
    wanted = wishes.of(str(item.file.name))
    return wanted if not wanted or admits(wanted, item.release) else SpecifierSet(f"=={item.release}")
