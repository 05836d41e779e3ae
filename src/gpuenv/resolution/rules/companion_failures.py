"""Why a companion can't come along, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import N_, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import Listing
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.rules import gpu_code as kernels
from gpuenv.resolution.rules import python as python_rule
from gpuenv.resolution.rules.phrases import releases
from gpuenv.resolution.target import Target, TargetGpu


@dataclass(frozen=True, slots=True, eq=False)
class AvailableCompanions:
    """The files of the companions that indexes list and that fit the systems, by project and release.

    `down` are the pages that could not be read, by project.
    """

    files: Mapping[tuple[str, Version], tuple[IndexedFile, ...]]
    down: Mapping[str, Listing]

    def of(self, project: str, releases: tuple[Version, ...]) -> list[IndexedFile]:
        """The files of some releases of a project."""
        return [item for release in releases for item in self.files.get((project, release), ())]

    def all_of(self, project: str) -> list[IndexedFile]:
        """The files of a project, of whatever release."""
        return [item for (name, _), files in self.files.items() if name == project for item in files]


@dataclass(frozen=True, slots=True, eq=False)
class CompanionMatch:
    """The files of one companion that go with a build, whatever the Python; the best first.

    One that nobody typed is optional: `lacking` says why there are none.
    """

    project: str
    files: tuple[IndexedFile, ...]
    optional: bool = False
    lacking: Failure | None = None


def code_for(
    project: str, version: Version, candidate: Candidate, target: Target, knowledge: Knowledge
) -> tuple[tuple[TargetGpu, kernels.Code | None], ...]:
    """Return what each GPU would run of a release; nothing where the matrix does not say what it has."""
    release = knowledge.companion_release(project, version)
    if release is None or not release.architectures or candidate.cuda is None:
        return ()
    cuda = dict(release.pypi_cuda).get(target.platform, candidate.cuda)
    return tuple((gpu, kernels.code_in(release.architectures, cuda, gpu, knowledge)) for gpu in target.gpus)


def lacking(
    project: str, version: Version, candidate: Candidate, target: Target, knowledge: Knowledge
) -> TargetGpu | None:
    """The first GPU that a release has no code for that it can run."""
    codes = code_for(project, version, candidate, target, knowledge)
    return next((gpu for gpu, code in codes if code not in ("machine code", "ptx")), None)


def no_code(
    project: str, candidate: Candidate, versions: tuple[Version, ...], target: Target, knowledge: Knowledge
) -> Failure:
    """Say that this torch has no companion of the kind with code for the GPUs."""
    gpu = lacking(project, versions[0], candidate, target, knowledge) or target.gpus[0]
    release = knowledge.companion_release(project, versions[0])
    facts = {
        "project": project,
        "versions": ", ".join(map(str, versions)),
        "gpu": gpu.label,
        "list": " ".join(map(str, release.architectures if release else ())),
    }
    detail = tr("{project} {versions} has code for {list}, none of which runs on {gpu}", **facts)
    return companion_failure(project, candidate, "code", detail, ("gpu", gpu.label))


def not_asked(
    project: str, candidate: Candidate, specifier: SpecifierSet, paired: tuple[Version, ...]
) -> Failure:
    """Say that the companions of this torch are not those that were asked for."""
    detail = tr(
        "torch {torch} requires {project} {versions}, not {specifier}",
        torch=candidate.torch,
        project=project,
        versions=", ".join(map(str, paired)),
        specifier=specifier,
    )
    return companion_failure(project, candidate, "request", detail)


def not_listed(
    project: str, candidate: Candidate, versions: tuple[Version, ...], available: AvailableCompanions
) -> Failure:
    """Say that no index lists the companion for this build, or that one could not be read."""
    facts = {
        "project": project,
        "versions": ", ".join(map(str, versions)),
        "variant": candidate.variant,
    }
    down = available.down.get(project)
    if down is None:
        return companion_failure(
            project, candidate, "absent", tr("no index lists {project} {versions} for {variant}", **facts)
        )
    detail = tr(
        "{page}, where {project} {versions} for {variant} may be, could not be read ({problem})",
        page=down.page,
        problem=down.problem,
        **facts,
    )
    return companion_failure(
        project, candidate, "down", detail, ("page", down.page), ("problem", down.problem or "")
    )


def without_python(companion_match: CompanionMatch, candidate: Candidate, python: PythonOffer) -> Failure:
    """Say that the companion has no file for this Python."""
    versions = ", ".join(dict.fromkeys(str(item.release) for item in companion_match.files))
    has = ", ".join(python_rule.pythons_of(companion_match.files))
    return companion_failure(
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


def companion_failure(
    project: str, candidate: Candidate, what: str, detail: str, *facts: tuple[str, str]
) -> Failure:
    """Return a failure of this rule."""
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
            return tr("the {project} compatible with {builds} has no code for {gpu}", gpu=gpu, **facts)
        case "down":
            page, problem = first.fact("page"), first.fact("problem")
            return tr(
                "{page}, where {project} for {builds} may be, could not be read ({problem})",
                page=page,
                problem=problem,
                **facts,
            )
    return tr(_SEVERAL.get(first.key[2], _ABSENT), **facts)


_ABSENT = N_("no index lists {project} for {builds}")
_SEVERAL = {
    "unknown": N_("no {project} is known to match {builds}"),
    "request": N_("{builds} require other releases of {project} than requested"),
    "python": N_("{project} for {builds} has no files for the possible Pythons"),
    "wheel": N_("no wheel of {project} is known for {builds}"),
}
