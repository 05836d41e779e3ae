"""Rule `companion`: torchvision, torchaudio and their kin match the torch release and its CUDA.

Metadata alone is too loose since torchvision 0.29 and torchaudio 2.11, so the matrix decides. Both compare
their CUDA with torch's when they are imported: torchaudio the whole version, torchvision (in the releases
that the matrix names) the major version only. One that brings kernels of its own (xformers) must have code
for every GPU.
"""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import Platform
from gpuenv.resolution.candidate import Candidate, IndexedFile
from gpuenv.resolution.request import Request, admits
from gpuenv.resolution.rules import python as python_rule
from gpuenv.resolution.rules.companion_failures import (
    AvailableCompanions,
    CompanionFailure,
    CompanionMatch,
    companion_failure,
    lacking,
    no_code,
    not_asked,
    not_listed,
    without_python,
)
from gpuenv.resolution.target import Target

WITHOUT_CUDA = ("torchtext", "torchdata")


def match(
    candidate: Candidate,
    request: Request,
    target: Target,
    knowledge: Knowledge,
    available: AvailableCompanions,
) -> tuple[CompanionMatch, ...] | CompanionFailure:
    """Return, for each companion asked for, the files that go with the build, the best first.

    Returns what is wrong with the first companion that has none and is not optional.
    """
    matches = []
    for project in request.companions:
        optional = project in request.optional
        companion_match = _match_one(
            project, candidate, request.specifier(project), target, knowledge, available
        )
        if not isinstance(companion_match, CompanionFailure):
            matches.append(replace(companion_match, optional=optional))
        elif optional:
            matches.append(CompanionMatch(project, (), optional, companion_match))
        else:
            return companion_match
    return tuple(matches)


def pick(
    matches: tuple[CompanionMatch, ...], candidate: Candidate, python: PythonOffer
) -> tuple[IndexedFile, ...] | CompanionFailure:
    """Return the file of each companion for `python`, or what is wrong with the first that has none.

    Optional companions that have none are left out.
    """
    chosen = []
    for companion_match in matches:
        usable = _usable(companion_match, python)
        if usable is not None:
            chosen.append(usable)
        elif not companion_match.optional:
            return without_python(companion_match, candidate, python)
    return tuple(chosen)


def left_out(
    matches: tuple[CompanionMatch, ...], candidate: Candidate, python: PythonOffer
) -> tuple[CompanionFailure, ...]:
    """Return what is wrong with each optional companion that has no file for `python`."""
    lacking = (
        companion_match
        for companion_match in matches
        if companion_match.optional and _usable(companion_match, python) is None
    )
    return tuple(
        companion_match.lacking or without_python(companion_match, candidate, python)
        for companion_match in lacking
    )


def in_wheelhouses(matches: tuple[CompanionMatch, ...], candidate: Candidate) -> tuple[CompanionMatch, ...]:
    """Return the matches with those files alone of optional companions that lie in a wheelhouse."""
    return tuple(
        _in_wheelhouse(companion_match, candidate) if companion_match.optional else companion_match
        for companion_match in matches
    )


def _in_wheelhouse(companion_match: CompanionMatch, candidate: Candidate) -> CompanionMatch:
    files = tuple(item for item in companion_match.files if item.listing.source.kind == "directory")
    if files or not companion_match.files:
        return replace(companion_match, files=files)
    facts = {
        "project": companion_match.project,
        "versions": str(companion_match.files[0].release),
        "variant": candidate.variant,
    }
    detail = tr("no wheelhouse has {project} {versions} for {variant}", **facts)
    return CompanionMatch(
        companion_match.project,
        (),
        optional=True,
        lacking=companion_failure(companion_match.project, candidate, "absent", detail),
    )


def _usable(companion_match: CompanionMatch, python: PythonOffer) -> IndexedFile | None:
    return next((item for item in companion_match.files if python_rule.runs_on(item.file, python)), None)


def _match_one(
    project: str,
    candidate: Candidate,
    specifier: SpecifierSet,
    target: Target,
    knowledge: Knowledge,
    available: AvailableCompanions,
) -> CompanionMatch | CompanionFailure:
    paired = knowledge.companions_of(candidate.torch).get(project, ())
    if not paired:
        detail = tr("no {project} is known to match torch {torch}", project=project, torch=candidate.torch)
        return companion_failure(project, candidate, "unknown", detail)
    versions = tuple(version for version in paired if _may_be_asked(version, candidate, specifier))
    if not versions:
        return not_asked(project, candidate, specifier, paired)
    able = tuple(
        version for version in versions if lacking(project, version, candidate, target, knowledge) is None
    )
    if not able:
        return no_code(project, candidate, versions, target, knowledge)
    ranked = [
        (closeness, able.index(item.release), item.order, number, item)
        for number, item in enumerate(available.of(project, able))
        if admits(specifier, item.file.version)
        and (closeness := _closeness(item, candidate, target, knowledge)) is not None
    ]
    if not ranked:
        return not_listed(project, candidate, able, available)
    return CompanionMatch(project, tuple(item for *_, item in sorted(ranked, key=lambda entry: entry[:4])))


def _may_be_asked(version: Version, candidate: Candidate, specifier: SpecifierSet) -> bool:
    """Whether the release, or its build for the candidate's variant (`==0.15.2+cu118`), is asked for."""
    if not specifier or admits(specifier, version):
        return True
    return admits(specifier, Version(f"{version}+{candidate.variant}"))


def _closeness(item: IndexedFile, candidate: Candidate, target: Target, knowledge: Knowledge) -> int | None:
    """Return 0 for the same variant, more for one that is close enough, None for one that does not fit."""
    if _has_no_variant(item):  # `+cpu` goes with a GPU's torch too, but PyPI's file has no second name
        return int(item.file.variant not in (None, candidate.variant))
    variant = item.file.variant or companion_variant(item, target, knowledge)
    if variant is None:
        return None
    if variant == candidate.variant:
        # of a variant's folder, or of PyPI as torch itself: an installer finds both where it finds torch
        return 0 if bool(item.file.variant) == (candidate.kind == "pytorch") else 1
    loose = knowledge.matches_by_major(item.file.name, item.release)
    if not fits_variant(variant, candidate.variant, loose=loose):
        return None
    own, torchs = variant.cuda, candidate.cuda
    return 2 + abs(own.minor - torchs.minor) if own and torchs else 2  # the nearest CUDA first


def fits_variant(own: Variant, wanted: Variant, *, loose: bool) -> bool:
    """Whether a companion's variant goes with torch's; `loose`: another CUDA of the same major does too."""
    if own == wanted:
        return True
    return loose and bool(own.cuda and wanted.cuda and own.cuda.major == wanted.cuda.major)


def companion_variant(item: IndexedFile, target: Target, knowledge: Knowledge) -> Variant | None:
    """Return the variant of a companion on PyPI, which its name does not state; None without CUDA code."""
    project = str(item.file.name)
    if _has_no_variant(item):
        return None
    return pypi_variant(project, item.release, target.platform, knowledge)


@cache
def pypi_variant(project: str, release: Version, platform: Platform, knowledge: Knowledge) -> Variant | None:
    """Return the variant of a companion's files on PyPI: the one read, else its first torch's there."""
    known = knowledge.companion_release(project, release)
    cuda = dict(known.pypi_cuda).get(platform) if known else None
    if cuda:
        return Variant(f"cu{cuda.major}{cuda.minor}")
    paired = knowledge.torches_of(project, release)
    variants = (knowledge.pypi_variant(torch, platform) for torch in sorted(paired))
    return next((variant for variant in variants if variant), None)


def _has_no_variant(item: IndexedFile) -> bool:
    return item.file.name in WITHOUT_CUDA or any(tag.platform == "any" for tag in item.file.tags)
