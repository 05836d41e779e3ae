"""Which files of torch, torchvision and torchaudio the matrices have, by Python, platform and index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import Version

from gpuenv import matrices
from gpuenv.explanation.wheels.question import ALL, PYPI, WheelQuestion
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.model.wheel import Platform, TorchBuild
from gpuenv.resolution.gpu_coverage import runs_on
from gpuenv.resolution.target import Target

JUDGED = ("torch", "torchvision", "torchaudio")  # whose files the matrices have
_FILE = re.compile(
    r"\w+-(?P<version>[^-+]+)(?:(?:\+|%2B)(?P<local>\w+))?-cp3(?P<minor>\d{1,2})-(?:cp3\d{1,2}m?|abi3)"
    r"-(?P<platform>[\w.]+)\.whl"
)
_ENDS: tuple[tuple[str, Platform], ...] = (
    ("x86_64", "linux-64"),
    ("aarch64", "linux-aarch64"),
    ("win_amd64", "win-64"),
)
_TAG = re.compile(r"cp3(\d{1,2})")


class WheelFact(Struct, frozen=True):
    """A release of a project as it is there for one build of torch.

    `pythons` are minors of CPython 3 that it may have files for, `listed` those of which files are known.
    """

    version: Version
    build: TorchBuild
    pythons: tuple[int, ...]
    listed: tuple[int, ...]

    @property
    def page(self) -> str:
        """The index that it lies on: PyPI's, or the variant's of PyTorch's."""
        return PYPI if self.build.index == "pypi" else str(self.build.variant)

    @property
    def variant(self) -> Variant:
        """The variant of its torch."""
        return self.build.variant


def wheel_facts(project: str, knowledge: Knowledge) -> tuple[WheelFact, ...]:
    """Return what there is of a project, oldest first."""
    found = (
        WheelFact(version, build, pythons, _listed(project, version, build, pythons))
        for build in knowledge.builds
        if build.variant.is_known
        for version, pythons in _releases(project, build, knowledge)
        if pythons
    )
    return tuple(sorted(found, key=lambda fact: (fact.version, fact.build.torch)))


def _releases(
    project: str, build: TorchBuild, knowledge: Knowledge
) -> Iterator[tuple[Version, tuple[int, ...]]]:
    if project == "torch":
        yield build.torch, _minors(build.pythons)
        return
    for version in knowledge.companions_of(build.torch).get(project, ()):
        release = knowledge.companion_release(project, version)
        own = set(_minors(release.pythons)) if release else set()
        yield version, tuple(minor for minor in _minors(build.pythons) if not own or minor in own)


def _listed(project: str, version: Version, build: TorchBuild, pythons: tuple[int, ...]) -> tuple[int, ...]:
    """Return the Pythons of the known files; of a companion's variant without any, those of its others."""
    page = PYPI if build.index == "pypi" else str(build.variant)
    pages = _files(project).get((str(version), build.platform), {})
    known = pages.get(page) or (set().union(*pages.values()) if project != "torch" else set())
    return tuple(minor for minor in pythons if minor in known) if known else pythons


@cache
def _files(project: str) -> Mapping[tuple[str, Platform], Mapping[str, set[int]]]:
    """Return for which Pythons files are known, by release and platform, then by page."""
    found: dict[tuple[str, Platform], dict[str, set[int]]] = {}
    for row in matrices.load("wheels"):
        match = _FILE.fullmatch(row["filename"]) if row["project"] == project else None
        platform = next((name for end, name in _ENDS if match and match["platform"].endswith(end)), None)
        if match and platform:
            page = PYPI if row["index"] == "pypi" else match["local"] or row.get("subdir") or ""
            of_release = found.setdefault((match["version"], platform), {})
            of_release.setdefault(page, set()).add(int(match["minor"]))
    return found


def _minors(tags: Iterable[str]) -> tuple[int, ...]:
    """Return the minors of CPython 3, free-threaded ones left out."""
    return tuple(sorted(int(match[1]) for tag in tags if (match := _TAG.fullmatch(tag))))


def minor_of(tag: str | None) -> int | None:
    """Return 13 of `cp313`, None of what is no plain CPython 3."""
    match = _TAG.fullmatch(tag or "")
    return int(match[1]) if match else None


def lies_on(fact: WheelFact, question: WheelQuestion) -> bool:
    """Whether it lies on a page that was looked at, with the local version that was asked for."""
    if question.local and (fact.page == PYPI or fact.page != question.local):
        return False
    return fact.page in question.pages or (ALL in question.pages and fact.page != PYPI)


def is_offered_to(question: WheelQuestion, facts: Iterable[WheelFact]) -> int | None:
    """Return the Python for which the pages begin with the release offered first; None if several do.

    The one that the text says counts where the pages end for it with the release offered last.
    """
    if not question.offered:
        return None
    first, last = (Version(question.offered[at].public) for at in (0, -1))
    question = replace(question, local=None)  # what is offered has whatever local version
    lowest: dict[tuple[int, str], Version] = {}
    highest: dict[int, Version] = {}
    for fact in facts:
        if lies_on(fact, question) and question.platform in {None, fact.build.platform}:
            for minor in fact.pythons:
                key = (minor, fact.build.platform)
                lowest[key] = min(lowest.get(key, fact.version), fact.version)
                highest[minor] = max(highest.get(minor, fact.version), fact.version)
    said = minor_of(question.python)
    if said is not None and highest.get(said) == last:
        return said
    minors = {minor for (minor, _), version in lowest.items() if version == first}
    return minors.pop() if len(minors) == 1 else None


def runs(fact: WheelFact, target: Target | None, knowledge: Knowledge) -> bool:
    """Whether it runs on the GPUs of a text's machine, as far as those are known."""
    if target is None or not target.gpus or target.platform != fact.build.platform:
        return True
    return runs_on(fact.build, target, knowledge)


def torch_builds(
    platform: Platform, target: Target | None, knowledge: Knowledge, release: Version | None = None
) -> list[WheelFact]:
    """Return torch's builds, or those of a release, on PyTorch's pages that run on a machine's GPUs."""
    return [
        fact
        for fact in wheel_facts("torch", knowledge)
        if fact.build.platform == platform and fact.page != PYPI and release in {None, fact.version}
        if runs(fact, target, knowledge)
    ]


def nearness(fact: WheelFact, wanted: str | None) -> tuple[int, int]:
    """Return how far a build's CUDA is from the one wanted, an older one before a newer one, for sorting."""
    own, asked = fact.variant.cuda, Variant(wanted).cuda if wanted else None
    if wanted is not None and str(fact.variant) == wanted:
        return (0, 0)
    if own is None or asked is None:
        return (3 if own is None else 1, -_number(own))
    return (1, _number(asked) - _number(own)) if own < asked else (2, _number(own) - _number(asked))


def _number(cuda: CudaVersion | None) -> int:
    return cuda.major * 100 + cuda.minor if cuda else 0
