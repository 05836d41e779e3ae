"""What channels have of the packages that a project asks conda for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv.model.conda import CondaRecord
from gpuenv.model.match_spec import MatchSpec, as_specifier
from gpuenv.resolution.release_distance import distance, named_releases
from gpuenv.resolution.request import admits

_ABI = "python_abi"
_MOST_KEPT = 50_000  # texts, read once: packages repeat what they depend on
_LAST = "99"  # a Python is known as MAJOR.MINOR: its newest patch stands for it

Settled = Mapping[str, Version]  # what is chosen already, by conda's name: `python` 3.10.99, `pytorch` 2.1.2


class ChannelPackages(Struct, frozen=True, eq=False):
    """The packages of some names by release, oldest first, each of the first channel that has the name.

    A solver that keeps to the order of channels takes them from nowhere else. `asked` are the names that were
    looked for; `complete` tells whether every channel answered, so that what is not there is nowhere.
    """

    releases: Mapping[str, tuple[tuple[str, tuple[CondaRecord, ...]], ...]]
    asked: frozenset[str]
    channels: tuple[str, ...]
    complete: bool

    def channel_of(self, name: str) -> str:
        """Return the channel that a name is read of."""
        rows = self.releases.get(name)
        return rows[0][1][0].channel if rows else ", ".join(self.channels)

    def is_lacking(self, name: str) -> bool:
        """Whether no channel has anything of the name."""
        return self.complete and name in self.asked and name not in self.releases

    def has_release(self, spec: MatchSpec) -> bool:
        """Whether there is the version that a spec asks for, in whatever build."""
        return any(_is_version(spec, version) for version, _ in self.releases.get(spec.name, ()))

    def fitting(self, spec: MatchSpec, settled: Settled) -> tuple[CondaRecord, ...]:
        """Return the packages that a spec names and that go with what is settled."""
        return tuple(
            record
            for version, records in self.releases.get(spec.name, ())
            if _is_version(spec, version)
            for record in records
            if fnmatchcase(record.build, spec.build or "*") and not hindrance(record, settled)
        )

    def versions(self, name: str, settled: Settled) -> tuple[Version, ...]:
        """Return the releases of a name that go with what is settled, oldest first."""
        own = (
            version_of(version)
            for version, records in self.releases.get(name, ())
            if any(not hindrance(record, settled) for record in records)
        )
        return tuple(version for version in own if version is not None)

    def nearest(
        self, name: str, wanted: SpecifierSet, settled: Settled, limits: SpecifierSet
    ) -> Version | None:
        """Return the release within limits that is the fewest releases from those asked for.

        The newer of two; None where none goes with what is settled.
        """
        known = [version for text, _ in self.releases.get(name, ()) if (version := version_of(text))]
        anchors = [version for version in known if wanted.contains(version, prereleases=True)]
        anchors = anchors or list(named_releases(wanted))
        ordered = sorted({*known, *anchors})
        there = (item for item in self.versions(name, settled) if admits(limits, item))
        return min(
            there, key=lambda item: (distance(item, anchors, ordered), -ordered.index(item)), default=None
        )

    def hindrance_of(self, spec: MatchSpec, settled: Settled) -> tuple[str, str] | None:
        """Return what keeps every package that a spec names from what is settled.

        A package and what it depends on: `numpy 1.19.2`, `python >=3.8,<3.9.0a0`. None where it has none, or
        where there is no such package.
        """
        named = self.fitting(spec, {})
        found = [(record, hindrance(record, settled)) for record in named]
        if not found or not all(text for _, text in found):
            return None
        record, text = found[-1]
        return f"{record.name} {record.version}", text or ""


def packages_of(
    records: Iterable[CondaRecord], asked: frozenset[str], channels: tuple[str, ...], *, complete: bool
) -> ChannelPackages:
    """Return the records by name and release; channels stand in the order in which they count."""
    by_name: defaultdict[str, defaultdict[str, list[CondaRecord]]] = defaultdict(lambda: defaultdict(list))
    rank = {name: position for position, name in enumerate(channels)}
    first: dict[str, int] = {}
    every = [(rank.get(record.channel, len(rank)), record) for record in records]
    for position, record in every:
        first[record.name] = min(position, first.get(record.name, position))
    for position, record in every:
        if position == first[record.name]:
            by_name[record.name][record.version].append(record)
    releases = {
        name: tuple((text, tuple(versions[text])) for text in sorted(versions, key=_order))
        for name, versions in by_name.items()
    }
    return ChannelPackages(releases, asked, channels, complete)


def hindrance(record: CondaRecord, settled: Settled) -> str | None:
    """Return the dependency of a package that what is settled does not meet; None where there is none."""
    for text in record.depends:
        name, _, rest = text.partition(" ")
        chosen = settled.get(name)
        if chosen is not None and rest and not _meets(rest.partition(" ")[0], chosen):
            return text
    return None


def python_settled(short: str) -> dict[str, Version]:
    """Return what a Python of MAJOR.MINOR settles."""
    return {"python": Version(f"{short}.{_LAST}"), _ABI: Version(short)}


@lru_cache(_MOST_KEPT)
def _meets(asked: str, chosen: Version) -> bool:
    specifier = _specifier(asked)
    if specifier is None:  # `1.2|1.3`: the solver knows better
        return True
    return specifier.contains(chosen, prereleases=True) or _is_minor_of(specifier, chosen)


@lru_cache(_MOST_KEPT)
def _specifier(asked: str) -> SpecifierSet | None:
    """Return what a version of conda's asks for, as PEP 440 says it; None where that can't."""
    try:
        return SpecifierSet(as_specifier(MatchSpec("", asked)))
    except (ValueError, InvalidSpecifier):
        return None


def _is_minor_of(specifier: SpecifierSet, chosen: Version) -> bool:
    """Whether one patch release is asked for of the Python chosen: `python 3.6.9`."""
    wanted = [item.version for item in specifier if item.operator == "=="]
    return str(chosen.micro) == _LAST and any(
        item.split(".")[:2] == [str(chosen.major), str(chosen.minor)] for item in wanted
    )


def _is_version(spec: MatchSpec, version: str) -> bool:
    if spec.version in ("", "*") or spec.release == version:
        return True
    specifier, read = _specifier(spec.version), version_of(version)
    if specifier is None:
        return spec.version.lstrip("=") == version
    return read is not None and specifier.contains(read, prereleases=True)


def _order(text: str) -> tuple[bool, Version, str]:
    version = version_of(text)
    return (version is not None, version or Version("0"), text)


@lru_cache(_MOST_KEPT)
def version_of(text: str) -> Version | None:
    """Return a version that Python's packages could have; None for `1.1.1k`, `9e`."""
    try:
        return Version(text)
    except InvalidVersion:
        return None
