"""The companions that are listed, and why one cannot be installed beside a build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import Listing
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant
from gpuenv.resolution.candidate import Candidate, Failure, FailureKey, IndexedFile
from gpuenv.resolution.rules import gpu_code
from gpuenv.resolution.rules import python as python_rule
from gpuenv.resolution.rules.phrases import range_of_releases
from gpuenv.resolution.target import Target, TargetGpu


class AvailableCompanions(Struct, frozen=True, eq=False):
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


class CompanionFailure(Failure, frozen=True, kw_only=True):
    """A companion, or another project bound to torch (`subject`), without a file for a build."""

    rule: str = "companion"
    torch: Version
    variant: Variant
    gpu: str = ""
    problem: str = ""
    versions: str = ""
    has: str = ""
    python: str = ""

    def _summarize_several(self, alike: tuple[CompanionFailure, ...]) -> str:
        return tr(
            _SEVERAL[self.kind],
            project=self.subject,
            builds=range_of_releases(failure.torch for failure in alike),
            gpu=self.gpu,
            page=self.unread_page,
            problem=self.problem,
        )


_SEVERAL = {
    "absent": N_("no index lists {project} for {builds}"),
    "code": N_("the {project} compatible with {builds} has no code for {gpu}"),
    "down": N_("{page}, where {project} for {builds} may be, could not be read ({problem})"),
    "unknown": N_("no {project} is known to match {builds}"),
    "request": N_("{builds} require other releases of {project} than requested"),
    "python": N_("{project} for {builds} has no files for the possible Pythons"),
    "wheel": N_("no wheel of {project} is known for {builds}"),
}


class CompanionMatch(Struct, frozen=True, eq=False):
    """The files of one companion that go with a build, whatever the Python; the best first.

    One that nobody typed is optional: `lacking` says why there are none.
    """

    project: str
    files: tuple[IndexedFile, ...]
    optional: bool = False
    lacking: CompanionFailure | None = None


def code_for(
    project: str, version: Version, candidate: Candidate, target: Target, knowledge: Knowledge
) -> tuple[tuple[TargetGpu, gpu_code.Code | None], ...]:
    """Return what each GPU would run of a release; nothing where the matrix does not say what it has."""
    release = knowledge.companion_release(project, version)
    if release is None or not release.architectures or candidate.cuda is None:
        return ()
    cuda = dict(release.pypi_cuda).get(target.platform, candidate.cuda)
    return tuple((gpu, gpu_code.code_in(release.architectures, cuda, gpu, knowledge)) for gpu in target.gpus)


def lacking(
    project: str, version: Version, candidate: Candidate, target: Target, knowledge: Knowledge
) -> TargetGpu | None:
    """The first GPU that a release has no code for that it can run."""
    codes = code_for(project, version, candidate, target, knowledge)
    return next((gpu for gpu, code in codes if code not in ("machine code", "ptx")), None)


def no_code(
    project: str, candidate: Candidate, versions: tuple[Version, ...], target: Target, knowledge: Knowledge
) -> CompanionFailure:
    """Say that this torch has no companion of the kind with code for the GPUs."""
    gpu = lacking(project, versions[0], candidate, target, knowledge) or target.gpus[0]
    release = knowledge.companion_release(project, versions[0])
    detail = tr(
        "{project} {versions} has code for {list}, none of which runs on {gpu}",
        project=project,
        versions=series(map(str, versions)),
        gpu=gpu.label,
        list=" ".join(map(str, release.architectures if release else ())),
    )
    return companion_failure(project, candidate, "code", detail, gpu=gpu.label)


def not_asked(
    project: str, candidate: Candidate, specifier: SpecifierSet, paired: tuple[Version, ...]
) -> CompanionFailure:
    """Say that the companions of this torch are not those that were asked for."""
    detail = tr(
        "torch {torch} requires {project} {versions}, not {specifier}",
        torch=candidate.torch,
        project=project,
        versions=series(map(str, paired)),
        specifier=specifier,
    )
    return companion_failure(project, candidate, "request", detail)


def not_listed(
    project: str, candidate: Candidate, versions: tuple[Version, ...], available: AvailableCompanions
) -> CompanionFailure:
    """Say that no index lists the companion for this build, or that one could not be read."""
    facts = {
        "project": project,
        "versions": series(map(str, versions)),
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
        project, candidate, "down", detail, unread_page=down.page, problem=down.problem or ""
    )


def without_python(
    companion_match: CompanionMatch, candidate: Candidate, python: PythonOffer
) -> CompanionFailure:
    """Say that the companion has no file for this Python."""
    facts = {
        "versions": series(dict.fromkeys(str(item.release) for item in companion_match.files)),
        "has": series(python_rule.pythons_of(companion_match.files)),
        "python": python.short,
    }
    detail = tr(_NO_PYTHON, project=companion_match.project, variant=candidate.variant, **facts)
    return companion_failure(companion_match.project, candidate, "python", detail, **facts)


_NO_PYTHON = N_("{project} {versions} for {variant} has files for Python {has}, not {python}")


def merged(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Return the failures of one build with those of a companion's Pythons as one."""
    groups: dict[FailureKey, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.key, []).append(failure)
    return tuple(map(_merge_pythons, groups.values()))


def _merge_pythons(group: list[Failure]) -> Failure:
    first = group[0]
    if not isinstance(first, CompanionFailure) or first.kind != "python":
        return first
    pythons = (failure.python for failure in reversed(group) if isinstance(failure, CompanionFailure))
    detail = tr(
        _NO_PYTHON,
        project=first.subject,
        versions=first.versions,
        variant=first.variant,
        has=first.has,
        python=series(pythons),
    )
    return replace(first, detail=detail)


def companion_failure(
    project: str, candidate: Candidate, kind: str, detail: str, **facts: str
) -> CompanionFailure:
    """Return a failure by what the matrix says of companions."""
    return CompanionFailure(
        kind=kind,
        subject=project,
        detail=detail,
        source=f"matrix companions.json; {candidate.source}",
        torch=candidate.torch,
        variant=candidate.variant,
        **facts,
    )
