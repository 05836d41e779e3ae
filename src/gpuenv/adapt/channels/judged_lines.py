"""Lines of conda's that no package of the channels meets with the Python, the torch and the numpy chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.adapt.channels.packages import ChannelPackages, Settled, python_settled
from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement, RequirementChange, changed_line
from gpuenv.adapt.nearest.other_pins import python_tag_of
from gpuenv.adapt.nearest.request import Wishes, exact_release, requirement_of
from gpuenv.adapt.nearest.resolver_changes import widened
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.built_releases import BuiltReleases
from gpuenv.model.errors import Because
from gpuenv.model.match_spec import MatchSpec, parse_match_spec
from gpuenv.model.python import PythonOffer
from gpuenv.model.wheel import Platform
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import STACK

_NUMPY = "numpy"  # what many packages were built with


class Judging(Struct, frozen=True):
    """What lines are judged by: what the channels have, and what is known to fail from some release on."""

    packages: ChannelPackages
    solution: Solution
    platform: Platform
    limits: Mapping[str, SpecifierSet]


def judged_lines(
    wishes: Wishes, changes: tuple[RequirementChange, ...], judging: Judging
) -> tuple[RequirementChange, ...]:
    """Return the changes with those of lines that nothing on the channels meets as they stand.

    A build that is not there, or is of another Python, goes; a release without one that fits moves to the
    nearest; what no channel has at all, or not for this Python, is taken out.
    """
    settled = settled_by(judging.solution)
    taken = {id(change.declared) for change in changes}
    lines = conda_lines(chain.from_iterable(wishes.lines.values()))
    for line in sorted(lines, key=lambda item: item.project != _NUMPY):
        spec = parse_match_spec(line.text)
        change = None if id(line) in taken else _judged(line, spec, settled, judging)
        changes = (*changes, change) if change else changes
        chosen = _numpy(line, change) if spec.name == _NUMPY else None
        settled = {**settled, _NUMPY: chosen} if chosen else settled
    return changes


def conda_lines(declared: Iterable[DeclaredRequirement]) -> Iterator[DeclaredRequirement]:
    """Yield the lines of conda's that ask for neither the stack nor Python nor CUDA."""
    others = (line for line in declared if line.project not in (*NO_PROJECTS, *STACK))
    return (line for line in others if line.notation == "conda" and not line.hint)


def with_channels(
    built: BuiltReleases,
    packages: ChannelPackages,
    declared: Iterable[DeclaredRequirement],
    offers: tuple[PythonOffer, ...],
) -> BuiltReleases:
    """Return what is known of releases, with those of the channels in the place of an index's."""
    tags = {python_tag_of(offer): python_settled(offer.short) for offer in offers}
    pythons = dict(built.pythons)
    for line in conda_lines(declared):
        name = parse_match_spec(line.text).name
        if name in packages.releases:
            there = {tag: packages.versions(name, settled) for tag, settled in tags.items()}
            every = sorted({version for versions in there.values() for version in versions})
            pythons[line.project] = tuple(
                (version, frozenset(tag for tag, versions in there.items() if version in versions))
                for version in every
            )
    return replace(built, pythons=pythons)


def without_channels(
    built: BuiltReleases, packages: ChannelPackages, declared: Iterable[DeclaredRequirement]
) -> BuiltReleases:
    """Return what is known of releases without what channels tell of."""
    read = {
        line.project
        for line in conda_lines(declared)
        if parse_match_spec(line.text).name in packages.releases
    }
    return replace(built, pythons={name: rows for name, rows in built.pythons.items() if name not in read})


def settled_by(solution: Solution) -> dict[str, Version]:
    """Return what a choice settles of what other packages depend on."""
    return {**python_settled(solution.python.short), "pytorch": solution.candidate.torch}


def _numpy(line: DeclaredRequirement, change: RequirementChange | None) -> Version | None:
    """Return the one numpy that is asked for, once its line has changed; None where any will do."""
    return exact_release(replace(line, requirement=change.new) if change else line)


def _judged(
    line: DeclaredRequirement, spec: MatchSpec, settled: Settled, judging: Judging
) -> RequirementChange | None:
    packages = judging.packages
    if spec.channel is not None or spec.name not in packages.asked:
        return None
    if packages.is_lacking(spec.name):
        facts = {"channels": series(packages.channels), "package": spec.name, "platform": judging.platform}
        because = Because(
            tr("no package `{package}` for {platform} is on {channels}", **facts), _source(packages)
        )
        return changed_line(line, None, because)
    if spec.name not in packages.releases or packages.fitting(spec, settled):
        return None
    without_build = MatchSpec(spec.name, spec.version)
    if spec.build and packages.fitting(without_build, settled):
        change = changed_line(line, _asked(line, spec), _why_built_otherwise(spec, settled, packages))
        return replace(change, old=line.text.strip())  # the build is no part of the requirement
    return _moved(line, spec, settled, judging)


def _moved(
    line: DeclaredRequirement, spec: MatchSpec, settled: Settled, judging: Judging
) -> RequirementChange | None:
    packages = judging.packages
    requirement, because = requirement_of(line), _why_moved(spec, settled, packages)
    if requirement is None:
        return changed_line(line, bare(line), because)
    limits = judging.limits.get(line.project, SpecifierSet())
    release = packages.nearest(spec.name, requirement.specifier, settled, limits)
    if release is None:
        gone = packages.hindrance_of(MatchSpec(spec.name), settled)
        return changed_line(line, None, _needs(gone, spec.name, packages) if gone else because)
    requirement.specifier = widened(requirement.specifier, release)
    return changed_line(line, str(requirement), because)


def _asked(line: DeclaredRequirement, spec: MatchSpec) -> str | None:
    """Return what is asked for without the build; a version that only conda knows is named as it is."""
    requirement, name = requirement_of(line), bare(line)
    return str(requirement) if requirement else name and f"{name}==={spec.version.lstrip('=')}"


def bare(line: DeclaredRequirement) -> str | None:
    """Return a project's name; None where no requirement can name it: `_libgcc_mutex`, which others bring."""
    return None if line.project.startswith("_") else line.project


def _why_built_otherwise(spec: MatchSpec, settled: Settled, packages: ChannelPackages) -> Because:
    facts = {"package": f"{spec.name} {spec.release or spec.version} {spec.build}"}
    found = packages.hindrance_of(spec, settled)
    if found:
        return _needs((facts["package"], found[1]), spec.name, packages)
    channel = packages.channel_of(spec.name)
    return Because(
        tr("{channel} does not have {package}", channel=channel, **facts), _source(packages, spec.name)
    )


def _why_moved(spec: MatchSpec, settled: Settled, packages: ChannelPackages) -> Because:
    if not packages.has_release(MatchSpec(spec.name, spec.version)):
        asked = f"{spec.name} {spec.release or spec.version}"
        facts = {"package": asked, "channel": packages.channel_of(spec.name)}
        return Because(tr("{channel} does not have {package}", **facts), _source(packages, spec.name))
    found = packages.hindrance_of(spec, settled)
    return _needs(found or (spec.name, spec.version), spec.name, packages)


def _needs(found: tuple[str, str], name: str, packages: ChannelPackages) -> Because:
    package, needs = found
    return Because(tr("{package} requires {needs}", package=package, needs=needs), _source(packages, name))


def _source(packages: ChannelPackages, name: str | None = None) -> str:
    channel = packages.channel_of(name) if name else series(packages.channels)
    return tr("channel {name}", name=channel)
