"""Rule `known-bad`: no combination known to install and then fail, or its workaround is in the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.i18n.messages import gettext, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import KnownBad
from gpuenv.knowledge.version_ranges import lies_apart, lies_within
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.known_bad_facts import KnownBadFacts

_JUDGE = "known-bad"
_OF_CONDA = "conda"  # judges conda's packages alone


def applying(facts: KnownBadFacts, knowledge: Knowledge) -> tuple[KnownBad, ...]:
    """Return the known-bad rows that apply, each with what is left to do about it.

    A condition on a package that a row's `constrain` names holds as long as nothing keeps the resolver from
    a bad version of it. A row that constrains and warns does either: where the user pins the bad version, it
    warns.
    """
    conda = "channel" in facts.words
    key = knowledge, conda, frozenset(facts.versions), *(facts.words.get(name) for name in _OF_MACHINE)
    kept = _open_rows(facts.requested)
    if key not in kept:
        judges = (_JUDGE, _OF_CONDA) if conda else (_JUDGE,)
        kept[key] = tuple(_open_among((row for row in knowledge.known_bad if row.judge in judges), facts))
    return tuple(
        _left_to_do(row, facts)
        for row, items in kept[key]
        if any(all(_holds(name, wanted, row, facts) for name, wanted in item) for item in items)
    )


_Items = tuple[tuple[tuple[str, SpecifierSet | str], ...], ...]
_OpenRows = tuple[tuple[KnownBad, _Items], ...]
_OF_MACHINE = ("os", "arch", "platform", "manager")  # words that are the same for all that is compared
_open_rows: ByIdentity[Mapping[str, SpecifierSet], dict[tuple[object, ...], _OpenRows]]
_open_rows = ByIdentity(lambda _: {})


def _open_among(rows: Iterable[KnownBad], facts: KnownBadFacts) -> Iterator[tuple[KnownBad, _Items]]:
    """Yield the rows that what is asked for leaves open, each with the conditions still to be judged.

    Those on other packages and on the machine are the same for all builds that come with the same projects.
    """
    for row in rows:
        if any(map(facts.has, row.unless)):
            continue
        held = (item for item in row.when if all(_is_open(*at, row, facts) for at in item))
        items = tuple(tuple(at for at in item if _varies(at[0], facts)) for item in held)
        if items:
            yield row, items


def _is_open(name: str, wanted: SpecifierSet | str, row: KnownBad, facts: KnownBadFacts) -> bool:
    return _varies(name, facts) or _holds(name, wanted, row, facts)


def _varies(name: str, facts: KnownBadFacts) -> bool:
    """Whether a condition is on a build, its Python or what comes with it."""
    if "*" in name:
        return any(fnmatchcase(version, name) for version in facts.versions)
    return name in facts.versions or (name in facts.words and name not in _OF_MACHINE)


def _holds(name: str, wanted: SpecifierSet | str, row: KnownBad, facts: KnownBadFacts) -> bool:
    if isinstance(wanted, str):
        return facts.words.get(name) == wanted
    if "*" in name:
        return any(_holds(item, wanted, row, facts) for item in facts.names(name))
    if name in facts.versions:
        return any(_contains(wanted, version) for version in facts.versions[name])
    specifiers = facts.requested.get(name)
    if name in _project_names(row.constrain):
        return specifiers is None or not lies_apart(specifiers, wanted)
    return specifiers is not None and lies_within(specifiers, wanted)


def specifiers_on(fact: str, knowledge: Knowledge) -> tuple[SpecifierSet, ...]:
    """Return what the rows that this rule judges ask of a fact, such as `driver`."""
    rows = (row for row in knowledge.known_bad if row.judge in (_JUDGE, _OF_CONDA))
    conditions = (condition for row in rows for item in row.when for condition in item)
    return tuple(wanted for name, wanted in conditions if name == fact and isinstance(wanted, SpecifierSet))


def _contains(wanted: SpecifierSet | str, version: Version) -> bool:
    if not isinstance(wanted, SpecifierSet):
        return False
    known = _contained(wanted)
    if version not in known:
        known[version] = wanted.contains(version, prereleases=True)
    return known[version]


_contained: ByIdentity[SpecifierSet, dict[Version, bool]] = ByIdentity(lambda _: {}, most=1024)


@cache
def _project_names(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(canonicalize_name(Requirement(text).name) for text in texts)


def _left_to_do(row: KnownBad, facts: KnownBadFacts) -> KnownBad:
    if not (row.constrain and row.warn):
        return row
    return replace(row, constrain=()) if is_pinned_to_it(row, facts) else replace(row, warn=False)


def is_pinned_to_it(row: KnownBad, facts: KnownBadFacts) -> bool:
    """Whether the user asks for nothing but bad versions of a package that the row constrains."""
    return any(
        name in _project_names(row.constrain)
        and isinstance(wanted, SpecifierSet)
        and name in facts.requested
        and lies_within(facts.requested[name], wanted)
        for item in row.when
        for name, wanted in item
    )


class KnownBadFailure(Failure, frozen=True, kw_only=True):
    """A row (`subject`) that applies; `workaround` is what the user's pins exclude, if any."""

    rule: str = _JUDGE
    workaround: str


def check(
    candidate: Candidate, rows: tuple[KnownBad, ...], facts: KnownBadFacts
) -> tuple[KnownBadFailure, ...]:
    """Return a failure for each applying row without a workaround, or one that the user's pins exclude."""
    return tuple(
        KnownBadFailure(
            subject=row.id,
            detail=tr(
                "{build}: {effect}; {remedy}",
                build=candidate.label,
                effect=gettext(row.effect),
                remedy=gettext(row.remedy),
            ),
            source=row.source,
            workaround=" ".join(row.constrain),
        )
        for row in rows
        if row.forbid or is_pinned_to_it(row, facts)
    )


def constraints(rows: tuple[KnownBad, ...], installed: frozenset[str]) -> tuple[tuple[str, KnownBad], ...]:
    """Return what the rows add, and their constraints on packages that will be there; each with its row."""
    return tuple(
        (text, row)
        for row in rows
        if not row.forbid
        for text in (*row.add, *row.constrain)
        if text in row.add or _project_names((text,)) <= installed
    )
