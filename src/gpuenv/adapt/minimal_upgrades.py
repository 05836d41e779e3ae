"""The least change of the packages beside the torch stack with which everything resolves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct, field
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpuenv.installers.uv_compile import Resolved
from gpuenv.installers.uv_failure import Unresolvable

_MOST_ROUNDS = 40  # of loosening: each names another culprit
MOST_ALONE = 40  # packages that are put back alone, to see whether they had to move
_NOT_FOUND = re.compile(r"\b([\w.-]+)(?:\[[^\]]*\])? was not found in")
_NO_WHEELS = re.compile(r"Wheels are required for `([^`\s=<>!~]+)")
_NOT_BUILT = re.compile(r"Failed to (?:download and )?build `([^`\s=<>!~@]+)")
_NO_VERSION = re.compile(r"there (?:is|are) no versions? of ([\w.-]+)")
_WORD = re.compile(r"[A-Za-z0-9][\w.-]*")


class Moves(Struct, frozen=True, order=True):
    """How many packages move, and how far in all: by major releases, by minor ones, by those below."""

    count: int = 0
    far: tuple[int, int, int] = (0, 0, 0)


def _step(old: Version, new: Version) -> tuple[int, int, int]:
    """Return how far a release lies from another, in the first part in which they differ."""
    major, minor, micro = abs(old.major - new.major), abs(old.minor - new.minor), abs(old.micro - new.micro)
    return major, 0 if major else minor, 0 if major or minor else micro


class Ask(Struct, frozen=True):
    """One question to the resolver: requirements, the projects not to build, what it keeps to if it can."""

    requirements: tuple[str, ...]
    wheels_only: tuple[str, ...]
    preferred: tuple[str, ...] = ()
    lowest: bool = False


Compile = Callable[[Ask], Resolved | Unresolvable]


class PackageUpgrade(Struct, frozen=True):
    """A package whose requirement must change: `new` is the one release; `because` what the old one gave.

    `because` is None where it was not put back alone.
    """

    project: str
    new: Version
    because: Unresolvable | None


class Settlement(Struct, frozen=True):
    """What came of it: all files, what moved, the projects that no index has and those built from source.

    `unbuilt` have only sources, which could not even be built to be looked at: they were left out.
    """

    resolved: Resolved
    moved: tuple[PackageUpgrade, ...] = ()
    absent: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
    unbuilt: tuple[str, ...] = ()


def settle_others(
    wanted: tuple[Requirement, ...],
    compile_: Compile,
    has_wheels: Callable[[str, Version], bool],
    foreign: frozenset[str] = frozenset(),
) -> Settlement | Unresolvable:
    """Return the settlement with the fewest changes of what is wanted beside the torch stack.

    A release of which there are wheels, none of them fitting, is not built: `has_wheels` tells whether there
    are any. The `foreign` projects are called by another installer's names: what is not there under them is
    left out. Unresolvable where nothing helps.
    """
    return _Search(wanted, compile_, has_wheels, foreign).run()


def count_moves(
    wanted: tuple[Requirement, ...],
    compile_: Compile,
    has_wheels: Callable[[str, Version], bool],
    foreign: frozenset[str] = frozenset(),
) -> Moves | None:
    """Return how many packages would have to change and how far, in fewer runs; None where nothing helps."""
    return _Search(wanted, compile_, has_wheels, foreign).count()


class _Search(Struct):
    wanted: tuple[Requirement, ...]
    compile_: Compile
    has_wheels: Callable[[str, Version], bool]
    foreign: frozenset[str]
    absent: set[str] = field(default_factory=set)
    built: set[str] = field(default_factory=set)
    never_built: set[str] = field(default_factory=set)
    unbuilt: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)

    def run(self) -> Settlement | Unresolvable:
        outcome = self._as_they_stand()
        if isinstance(outcome, Resolved):
            return self._settled(outcome, ())
        kept = self._keeping()
        return kept if isinstance(kept, Unresolvable) else self._least(self._nearest(kept))

    def count(self) -> Moves | None:
        """Return how many packages move, and how far, when each is kept that can be."""
        if isinstance(self._as_they_stand(), Resolved):
            return Moves()
        kept = self._keeping()
        if isinstance(kept, Unresolvable):
            return None
        moved = [(self._pin(name), new) for name, new in self._nearest(kept).items()]
        steps = [_step(old, new) for old, new in moved if old]  # it is not known how far a range moves
        major, minor, micro = (sum(step[part] for step in steps) for part in range(3))
        return Moves(len(moved), (major, minor, micro))

    # what is wanted

    def _there(self) -> Iterator[Requirement]:
        gone = self.absent | self.unbuilt
        return (requirement for requirement in self.wanted if _name(requirement) not in gone)

    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_name(requirement) for requirement in self._there()))

    def _specifier(self, name: str) -> SpecifierSet:
        joined = SpecifierSet()
        for requirement in self._there():
            if _name(requirement) == name:
                joined &= requirement.specifier
        return joined

    def _pin(self, name: str) -> Version | None:
        """Return the one release that is wanted of a project."""
        exact = (item.version for item in self._specifier(name) if item.operator in ("==", "==="))
        return next(filter(None, map(_version, exact)), None)

    def _ask(
        self, instead: dict[str, str], preferred: tuple[str, ...] = (), *, lowest: bool = False
    ) -> Resolved | Unresolvable:
        """Resolve with the specifiers of some projects replaced."""
        lines = dict.fromkeys(_with(item, instead.get(_name(item))) for item in self._there())
        wheels = tuple(name for name in self._names() if name not in self.built)
        return self.compile_(Ask(tuple(lines), wheels, preferred, lowest))

    # the phases

    def _as_they_stand(self) -> Resolved | Unresolvable:
        while True:
            outcome = self._ask({})
            if isinstance(outcome, Resolved) or not self._drop_absent(outcome):
                return outcome

    def _drop_absent(self, outcome: Unresolvable) -> bool:
        """Leave out what no index has; whether there was anything."""
        values = _named(_NOT_FOUND, outcome) & set(self._names())
        gone = _named(_NO_VERSION, outcome) & set(self._names()) & self.foreign
        self.absent |= values | gone
        return bool(values | gone)

    def _keeping(self) -> dict[str, Version] | Unresolvable:
        """Return what is resolved when every pin is kept that can be; a package that can't be moves."""
        self.loose = {name for name in self._names() if self._pin(name) is not None}
        outcome: Resolved | Unresolvable = Unresolvable("", ())
        for _ in range(_MOST_ROUNDS):
            preferred = tuple(f"{name}=={self._pin(name)}" for name in self._names() if self._pin(name))
            outcome = self._ask(dict.fromkeys(self.loose, ""), preferred)
            if isinstance(outcome, Unresolvable):
                if not self._learn(outcome):
                    return outcome
                continue
            versions = _versions(outcome)
            if not self._allow_source(versions):
                return versions
        return outcome if isinstance(outcome, Unresolvable) else _versions(outcome)

    def _learn(self, outcome: Unresolvable) -> bool:
        """Give way to what a failure names; whether it named anything."""
        if self._drop_absent(outcome):
            return True
        names = set(self._names())
        if broken := _named(_NOT_BUILT, outcome) & self.built:
            self.built -= broken
            self.never_built |= broken
            return True
        free = {name for name in names if name in self.loose or not self._specifier(name)}
        without_wheels = _named(_NO_WHEELS, outcome) & free
        if sources := without_wheels - self.built - self.never_built:
            self.built |= sources
            return True
        if hopeless := without_wheels & self.never_built:
            self.unbuilt |= hopeless
            return True
        words = (str(canonicalize_name(word.rstrip(".-"))) for word in _WORD.findall(outcome.message))
        culprits = {word for word in words if word in names and self._specifier(word)} - self.loose
        self.loose |= culprits
        return bool(culprits)

    def _allow_source(self, versions: dict[str, Version]) -> bool:
        """Let be built what has no wheels at all of the release wanted; whether there was anything new."""
        names = set()
        for name in self._moved(versions):
            pin = self._pin(name)
            if pin and name not in self.built | self.never_built and not self.has_wheels(name, pin):
                names.add(name)
        self.absent |= names & self.foreign
        self.built |= names - self.foreign
        return bool(names)

    def _moved(self, versions: dict[str, Version]) -> list[str]:
        names = [name for name in self._names() if name in versions]
        return [
            name for name in names if not self._specifier(name).contains(versions[name], prereleases=True)
        ]

    def _least(self, chosen: dict[str, Version]) -> Settlement | Unresolvable:
        """Put back alone, of the packages that move, those that need not have moved."""
        reasons: dict[str, Unresolvable | None] = {}
        for name in list(chosen)[:MOST_ALONE]:
            others = {other: f"=={version}" for other, version in chosen.items() if other != name}
            outcome = self._ask(others)
            if isinstance(outcome, Resolved):
                del chosen[name]
            else:
                reasons[name] = outcome
        final = self._ask({name: f"=={version}" for name, version in chosen.items()})
        if isinstance(final, Unresolvable):
            return final
        upgrades = (PackageUpgrade(name, version, reasons.get(name)) for name, version in chosen.items())
        return self._settled(final, tuple(upgrades))

    def _nearest(self, versions: dict[str, Version]) -> dict[str, Version]:
        """Return the releases of what moves: the lowest that are newer than what was wanted."""
        moved = self._moved(versions)
        if not moved:
            return {}
        instead = {}
        for name in self._names():
            pin, version = self._pin(name), versions.get(name)
            if version is None:
                continue
            if name not in moved:
                instead[name] = str(self._specifier(name)) if pin else f">={version.public}"
            else:
                instead[name] = f">={pin.public}" if pin and version > pin else f"=={version}"
        outcome = self._ask(instead, lowest=True)
        lowest = _versions(outcome) if isinstance(outcome, Resolved) else versions
        return {name: lowest.get(name, versions[name]) for name in moved}

    def _settled(self, resolved: Resolved, moved: tuple[PackageUpgrade, ...]) -> Settlement:
        names = (tuple(sorted(names)) for names in (self.absent, self.built, self.unbuilt))
        return Settlement(resolved, moved, *names)


def _name(requirement: Requirement) -> str:
    return canonicalize_name(requirement.name)


def _with(requirement: Requirement, specifier: str | None) -> str:
    if specifier is None:
        return str(requirement)
    copy = Requirement(str(requirement))
    copy.specifier = SpecifierSet(specifier)
    return str(copy)


def _versions(resolved: Resolved) -> dict[str, Version]:
    read = ((str(canonicalize_name(file.name)), _version(file.version)) for file in resolved.files)
    return {name: version for name, version in read if version is not None}


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _named(pattern: re.Pattern[str], outcome: Unresolvable) -> set[str]:
    return {str(canonicalize_name(name)) for name in pattern.findall(outcome.message)}
