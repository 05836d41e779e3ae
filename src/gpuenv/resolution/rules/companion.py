"""Rule `companion`: torchvision, torchaudio and their kin match the torch release and its CUDA.

Metadata alone is too loose since torchvision 0.29 and torchaudio 2.11, so the matrix decides. Both compare
their CUDA with torch's when they are imported: torchaudio the whole version, torchvision (in the releases
that the matrix names) the major version only. One that brings kernels of its own (xformers) must have code
for every GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import marked, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import Listing
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import Platform
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.request import Request, admits
from gpuenv.resolution.rules import gpu_code as kernels
from gpuenv.resolution.rules import python as python_rule
from gpuenv.resolution.rules.phrases import releases
from gpuenv.resolution.target import Target, TargetGpu

WITHOUT_CUDA = ("torchtext", "torchdata")


@dataclass(frozen=True, slots=True, eq=False)
class AvailableCompanions:
    """The files of the companions that indexes list and that fit the systems, by project and release.

    `down` are the pages that could not be read, by project.
    """

    found: Mapping[tuple[str, Version], tuple[IndexedFile, ...]]
    down: Mapping[str, Listing]

    def of(self, project: str, releases: tuple[Version, ...]) -> list[IndexedFile]:
        """The files of some releases of a project."""
        return [item for release in releases for item in self.found.get((project, release), ())]

    def all_of(self, project: str) -> list[IndexedFile]:
        """The files of a project, of whatever release."""
        return [item for (name, _), files in self.found.items() if name == project for item in files]


@dataclass(frozen=True, slots=True, eq=False)
class CompanionMatch:
    """The files of one companion that go with a build, whatever the Python; the best first.

    One that nobody typed is optional: `lacking` says why there are none.
    """

    project: str
    files: tuple[IndexedFile, ...]
    optional: bool = False
    lacking: Failure | None = None


def match(
    candidate: Candidate,
    request: Request,
    target: Target,
    knowledge: Knowledge,
    available: AvailableCompanions,
) -> tuple[CompanionMatch, ...] | Failure:
    """Return, for each companion asked for, the files that go with the build, the best first.

    Returns what is wrong with the first companion that has none and is not optional.
    """
    matches = []
    for project in request.companions:
        optional = project in request.optional
        companion_match = _match_one(
            project, candidate, request.specifier(project), target, knowledge, available
        )
        if not isinstance(companion_match, Failure):
            matches.append(replace(companion_match, optional=optional))
        elif optional:
            matches.append(CompanionMatch(project, (), optional, companion_match))
        else:
            return companion_match
    return tuple(matches)


def pick(
    matches: tuple[CompanionMatch, ...], candidate: Candidate, python: PythonOffer
) -> tuple[IndexedFile, ...] | Failure:
    """Return the file of each companion for `python`, or what is wrong with the first that has none.

    Optional companions that have none are left out.
    """
    chosen = []
    for companion_match in matches:
        usable = _usable(companion_match, python)
        if usable is not None:
            chosen.append(usable)
        elif not companion_match.optional:
            return _without_python(companion_match, candidate, python)
    return tuple(chosen)


def left_out(
    matches: tuple[CompanionMatch, ...], candidate: Candidate, python: PythonOffer
) -> tuple[Failure, ...]:
    """Return what is wrong with each optional companion that has no file for `python`."""
    lacking = (
        companion_match
        for companion_match in matches
        if companion_match.optional and _usable(companion_match, python) is None
    )
    return tuple(
        companion_match.lacking or _without_python(companion_match, candidate, python)
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
        lacking=_failure(companion_match.project, candidate, "absent", detail),
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
) -> CompanionMatch | Failure:
    paired = knowledge.companions_of(candidate.torch).get(project, ())
    if not paired:
        detail = tr("no {project} is known to match torch {torch}", project=project, torch=candidate.torch)
        return _failure(project, candidate, "unknown", detail)
    versions = tuple(version for version in paired if _may_be_asked(version, candidate, specifier))
    if not versions:
        return _not_asked(project, candidate, specifier, paired)
    able = tuple(
        version for version in versions if _lacking(project, version, candidate, target, knowledge) is None
    )
    if not able:
        return _no_code(project, candidate, versions, target, knowledge)
    ranked = [
        (closeness, able.index(item.release), item.order, number, item)
        for number, item in enumerate(available.of(project, able))
        if admits(specifier, item.file.version)
        and (closeness := _closeness(item, candidate, target, knowledge)) is not None
    ]
    if not ranked:
        return _not_listed(project, candidate, able, available)
    return CompanionMatch(project, tuple(item for *_, item in sorted(ranked, key=lambda entry: entry[:4])))


def _may_be_asked(version: Version, candidate: Candidate, specifier: SpecifierSet) -> bool:
    """Whether the release, or its build for the case's variant (`==0.15.2+cu118`), is among what is asked."""
    if not specifier or admits(specifier, version):
        return True
    return admits(specifier, Version(f"{version}+{candidate.variant}"))


def code_for(
    project: str, version: Version, candidate: Candidate, target: Target, knowledge: Knowledge
) -> tuple[tuple[TargetGpu, kernels.Code | None], ...]:
    """Return what each GPU would run of a release; nothing where the matrix does not say what it has."""
    release = knowledge.companion_release(project, version)
    if release is None or not release.architectures or candidate.cuda is None:
        return ()
    cuda = dict(release.pypi_cuda).get(target.platform, candidate.cuda)
    return tuple((gpu, kernels.code_in(release.architectures, cuda, gpu, knowledge)) for gpu in target.gpus)


def _lacking(
    project: str, version: Version, candidate: Candidate, target: Target, knowledge: Knowledge
) -> TargetGpu | None:
    """The first GPU that a release has no code for that it can run."""
    codes = code_for(project, version, candidate, target, knowledge)
    return next((gpu for gpu, code in codes if code not in ("machine code", "ptx")), None)


def _no_code(
    project: str, candidate: Candidate, versions: tuple[Version, ...], target: Target, knowledge: Knowledge
) -> Failure:
    gpu = _lacking(project, versions[0], candidate, target, knowledge) or target.gpus[0]
    release = knowledge.companion_release(project, versions[0])
    facts = {
        "project": project,
        "versions": ", ".join(map(str, versions)),
        "gpu": gpu.label,
        "list": " ".join(map(str, release.architectures if release else ())),
    }
    detail = tr("{project} {versions} has code for {list}, none of which runs on {gpu}", **facts)
    return _failure(project, candidate, "code", detail, ("gpu", gpu.label))


def _not_asked(
    project: str, candidate: Candidate, specifier: SpecifierSet, paired: tuple[Version, ...]
) -> Failure:
    detail = tr(
        "torch {torch} goes with {project} {versions}, not {specifier}",
        torch=candidate.torch,
        project=project,
        versions=", ".join(map(str, paired)),
        specifier=specifier,
    )
    return _failure(project, candidate, "request", detail)


def _not_listed(
    project: str, candidate: Candidate, versions: tuple[Version, ...], available: AvailableCompanions
) -> Failure:
    facts = {
        "project": project,
        "versions": ", ".join(map(str, versions)),
        "variant": candidate.variant,
    }
    down = available.down.get(project)
    if down is None:
        return _failure(
            project, candidate, "absent", tr("no index lists {project} {versions} for {variant}", **facts)
        )
    detail = tr(
        "{page}, where {project} {versions} for {variant} may be, could not be read ({problem})",
        page=down.page,
        problem=down.problem,
        **facts,
    )
    return _failure(project, candidate, "down", detail, ("page", down.page), ("problem", down.problem or ""))


def _without_python(companion_match: CompanionMatch, candidate: Candidate, python: PythonOffer) -> Failure:
    versions = ", ".join(dict.fromkeys(str(item.release) for item in companion_match.files))
    has = ", ".join(python_rule.pythons_of(companion_match.files))
    return _failure(
        companion_match.project,
        candidate,
        "python",
        _say_python(companion_match.project, versions, candidate.variant, has, python.short),
        ("versions", versions),
        ("has", has),
        ("python", python.short),
    )


def _say_python(project: str, versions: str, variant: Variant | str, has: str, pythons: str) -> str:
    return tr(
        "{project} {versions} for {variant} has files for Python {has}, not {python}",
        project=project,
        versions=versions,
        variant=variant,
        has=has,
        python=pythons,
    )


def merged(failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """Return the failures of one build with those of a companion's Pythons told as one."""
    groups: dict[tuple[str, ...], list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.key, []).append(failure)
    return tuple(
        _merge_pythons(group) if key[0] == "companion" and key[-1] == "python" else group[0]
        for key, group in groups.items()
    )


def _merge_pythons(group: list[Failure]) -> Failure:
    first = group[0]
    pythons = ", ".join(failure.fact("python") for failure in reversed(group))
    words = (first.fact("project"), first.fact("versions"), first.fact("variant"), first.fact("has"))
    return replace(first, detail=_say_python(*words, pythons))


def _closeness(item: IndexedFile, candidate: Candidate, target: Target, knowledge: Knowledge) -> int | None:
    """Return 0 for the same variant, more for one that is close enough, None for one that does not fit."""
    if _has_no_variant(item):
        return 0
    variant = item.file.variant or companion_variant(item, target, knowledge)
    if variant is None:
        return None
    if variant == candidate.variant:
        return 0 if bool(item.file.version.local) == (candidate.kind == "pytorch") else 1
    loose = knowledge.matches_by_major(item.file.name, item.release)
    return 2 if fits_variant(variant, candidate.variant, loose=loose) else None


def fits_variant(own: Variant, wanted: Variant, *, loose: bool) -> bool:
    """Whether a companion's variant goes with torch's; `loose`: another CUDA of the same major does too."""
    if own == wanted:
        return True
    return loose and bool(own.cuda and wanted.cuda and own.cuda.major == wanted.cuda.major)


def companion_variant(item: IndexedFile, target: Target, knowledge: Knowledge) -> Variant | None:
    """Return the variant of a companion on PyPI, not told by its name; None without CUDA code."""
    project = str(item.file.name)
    if _has_no_variant(item):
        return None
    return pypi_variant(project, item.release, target.platform, knowledge)


def pypi_variant(project: str, release: Version, platform: Platform, knowledge: Knowledge) -> Variant | None:
    """Return the variant of a companion's files on PyPI: the one read, else its first torch's there."""
    stated = knowledge.companion_pypi_variant(project, release, platform)
    if stated is not None:
        return stated
    paired = knowledge.torches_of(project, release)
    variants = (knowledge.pypi_variant(torch, platform) for torch in sorted(paired))
    return next((variant for variant in variants if variant), None)


def _has_no_variant(item: IndexedFile) -> bool:
    return item.file.name in WITHOUT_CUDA or any(tag.platform == "any" for tag in item.file.tags)


def _failure(project: str, candidate: Candidate, what: str, detail: str, *facts: tuple[str, str]) -> Failure:
    return Failure(
        "companion",
        ("companion", project, what),
        detail,
        f"matrix companions.json; {candidate.source}",
        (("project", project), ("torch", str(candidate.torch)), ("variant", str(candidate.variant)), *facts),
    )


def summarize(failures: tuple[Failure, ...]) -> str:
    """Say which companion stands in the way."""
    if len({failure.detail for failure in failures}) == 1:
        return failures[0].detail
    return _say_several(failures[0], {"project": failures[0].fact("project"), "builds": releases(failures)})


def _say_several(first: Failure, facts: Mapping[str, str]) -> str:
    match first.key[2]:
        case "code":
            gpu = first.fact("gpu")
            return tr("the {project} that goes with {builds} has no code for {gpu}", gpu=gpu, **facts)
        case "down":
            page, problem = first.fact("page"), first.fact("problem")
            return tr(
                "{page}, where {project} for {builds} may be, could not be read ({problem})",
                page=page,
                problem=problem,
                **facts,
            )
    return tr(_SEVERAL.get(first.key[2], _ABSENT), **facts)


_ABSENT = marked("no index lists {project} for {builds}")
_SEVERAL = {
    "unknown": marked("no {project} is known to match {builds}"),
    "request": marked("{builds} go with other releases of {project} than asked"),
    "python": marked("{project} for {builds} has no files for the Pythons in question"),
    "wheel": marked("no wheel of {project} is known for {builds}"),
}
