"""Rule `companion`: torchvision, torchaudio and their kin match the torch release and its CUDA.

Metadata alone is too loose since torchvision 0.29 and torchaudio 2.11, so the matrix decides. Both compare
their CUDA with torch's when they are imported: torchaudio the whole version, torchvision (in the releases
that the matrix names) the major version only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.core.case import Case, Failure, Found
from gpuenv.core.knowledge import Knowledge
from gpuenv.core.request import Request
from gpuenv.core.rules import python as python_rule
from gpuenv.core.target import Target
from gpuenv.values.python import PythonOffer
from gpuenv.values.text import tr
from gpuenv.values.variant import Variant

_WITHOUT_CUDA = ("torchtext", "torchdata")


@dataclass(frozen=True, slots=True, eq=False)
class Shelf:
    """The files of the companions that indexes list and that fit the systems, by project and release."""

    found: Mapping[tuple[str, Version], tuple[Found, ...]]

    def of(self, project: str, releases: list[Version]) -> list[Found]:
        return [item for release in releases for item in self.found.get((project, release), ())]


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The files of one companion that go with a build, whatever the Python; the best first."""

    project: str
    files: tuple[Found, ...]


def match(
    case: Case, request: Request, target: Target, knowledge: Knowledge, shelf: Shelf
) -> tuple[Match, ...] | Failure:
    """Return, for each companion asked for, the files that go with the build, the best first.

    Returns what is wrong with the first companion that has none.
    """
    matches = []
    for project in request.companions:
        found = _match_one(project, case, request.specifier(project), target, knowledge, shelf)
        if isinstance(found, Failure):
            return found
        matches.append(found)
    return tuple(matches)


def pick(matches: tuple[Match, ...], case: Case, python: PythonOffer) -> tuple[Found, ...] | Failure:
    """Return the file of each companion for `python`, or what is wrong with the first that has none."""
    chosen = []
    for found in matches:
        usable = next((item for item in found.files if python_rule.runs_on(item.file, python)), None)
        if usable is None:
            return _without_python(found, case, python)
        chosen.append(usable)
    return tuple(chosen)


def _match_one(
    project: str, case: Case, specifier: SpecifierSet, target: Target, knowledge: Knowledge, shelf: Shelf
) -> Match | Failure:
    paired = knowledge.companions_of(case.torch).get(project, ())
    facts = {"project": project, "torch": case.torch, "variant": case.variant}
    if not paired:
        return _failure(project, case, "unknown", tr("no {project} is known to match torch {torch}", **facts))
    asked = [version for version in paired if specifier.contains(version, prereleases=True)]
    facts["versions"] = ", ".join(map(str, asked or paired))
    if not asked:
        detail = tr("torch {torch} goes with {project} {versions}, not {specifier}", **facts, specifier=specifier)
        return _failure(project, case, "request", detail)
    ranked = [
        (closeness, asked.index(item.release), item.order, number, item)
        for number, item in enumerate(shelf.of(project, asked))
        if (closeness := _closeness(project, item, case, target, knowledge)) is not None
    ]
    if not ranked:
        return _failure(project, case, "absent", tr("no index lists {project} {versions} for {variant}", **facts))
    return Match(project, tuple(item for *_, item in sorted(ranked, key=lambda entry: entry[:4])))


def _without_python(found: Match, case: Case, python: PythonOffer) -> Failure:
    detail = tr(
        "{project} {versions} for {variant} has files for Python {has}, not {python}",
        project=found.project,
        versions=", ".join(dict.fromkeys(str(item.release) for item in found.files)),
        variant=case.variant,
        has=", ".join(python_rule.pythons_of(found.files)),
        python=python.short,
    )
    return _failure(found.project, case, "python", detail)


def _closeness(project: str, item: Found, case: Case, target: Target, knowledge: Knowledge) -> int | None:
    """Return 0 for the same variant, 1 for one that is close enough, None for one that does not fit."""
    if project in _WITHOUT_CUDA or any(tag.platform == "any" for tag in item.file.tags):
        return 0
    variant = item.file.variant or companion_variant(project, item, target, knowledge)
    if variant is None:
        return None
    if variant == case.variant:
        return 0 if bool(item.file.version.local) == (case.kind == "pytorch") else 1
    same_major = variant.cuda and case.cuda and variant.cuda.major == case.cuda.major
    loose = knowledge.matches_by_major(project, item.release)
    return 2 if same_major and loose else None


def companion_variant(project: str, item: Found, target: Target, knowledge: Knowledge) -> Variant | None:
    """Return the variant of a companion on PyPI, whose name does not tell it."""
    version = item.release
    stated = knowledge.companion_pypi_variant(project, version, target.platform)
    if stated is not None:
        return stated
    paired = knowledge.torches_of(project, version)
    variants = (knowledge.pypi_variant(torch, target.platform) for torch in sorted(paired))
    return next((variant for variant in variants if variant), None)


def _failure(project: str, case: Case, what: str, detail: str) -> Failure:
    return Failure(
        "companion",
        ("companion", project, what),
        detail,
        f"matrix companions.json; {case.source}",
        (("project", project), ("torch", str(case.torch)), ("variant", str(case.variant))),
    )


def sentence(failures: tuple[Failure, ...]) -> str:
    """Say which companion stands in the way."""
    if len({failure.detail for failure in failures}) == 1:
        return failures[0].detail
    first = failures[0]
    torches = ", ".join(dict.fromkeys(failure.fact("torch") for failure in failures))
    return {
        "unknown": tr("no {project} is known to match torch {torches}", project=first.fact("project"), torches=torches),
        "request": tr("torch {torches} goes with other releases of {project} than asked", project=first.fact("project"), torches=torches),
        "absent": tr("no index lists a {project} for torch {torches}", project=first.fact("project"), torches=torches),
        "python": tr("{project} for torch {torches} has no file for this Python", project=first.fact("project"), torches=torches),
    }[first.key[2]]
