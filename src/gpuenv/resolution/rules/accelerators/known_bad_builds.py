"""Rule `known-bad` for accelerators: no build that installs and then fails on the devices."""

from __future__ import annotations

from functools import cache

from packaging.specifiers import SpecifierSet

from gpuenv.i18n.messages import gettext, tr
from gpuenv.knowledge.accelerators import AcceleratorKnownBad, Condition
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.variant import Variant
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.rules.phrases import list_builds
from gpuenv.resolution.target import Target


class BadBuildFailure(Failure, frozen=True, kw_only=True):
    """A row (`subject`) of known-bad builds that applies."""

    rule: str = "known-bad"
    build: str
    effect: str
    remedy: str

    def _summarize_several(self, alike: tuple[BadBuildFailure, ...]) -> str:
        builds = list_builds(failure.build for failure in alike)
        return tr("{builds}: {effect}; {remedy}", builds=builds, effect=self.effect, remedy=self.remedy)


def check(candidate: Candidate, target: Target, knowledge: Knowledge) -> tuple[BadBuildFailure, ...]:
    """Return a failure for each row that forbids the build on the devices."""
    return tuple(
        BadBuildFailure(
            subject=row.id,
            detail=tr(
                "{build}: {effect}; {remedy}",
                build=candidate.label,
                effect=gettext(row.effect),
                remedy=gettext(row.remedy),
            ),
            source=row.source,
            build=candidate.label,
            effect=gettext(row.effect),
            remedy=gettext(row.remedy),
        )
        for row in applying(candidate, target, knowledge)
        if row.forbid
    )


def applying(candidate: Candidate, target: Target, knowledge: Knowledge) -> tuple[AcceleratorKnownBad, ...]:
    """Return the rows that are about the build on one of the devices."""
    return tuple(
        row
        for row in knowledge.accelerators.known_bad
        if any(_holds(condition, candidate, target) for condition in row.when)
    )


def _holds(condition: Condition, candidate: Candidate, target: Target) -> bool:
    build = candidate.accelerated
    if build is None or condition.kind != target.kind or condition.environment or condition.packages:
        return False  # what is set and what is asked for beside is told of the plan
    there = {device.accelerator.architecture for device in target.devices}
    return (
        (not condition.architectures or not there.isdisjoint(condition.architectures))
        and (not condition.indexes or build.index in condition.indexes)
        and (condition.torch is None or _contains(condition.torch, str(candidate.torch)))
        and (condition.rocm is None or _contains(condition.rocm, _rocm(build.variant)))
        and condition.native is None
    )


def _rocm(variant: Variant) -> str:
    return ".".join(map(str, variant.release)) or "0"


@cache
def _contains(specifier: str, version: str) -> bool:
    return SpecifierSet(specifier).contains(version, prereleases=True)
