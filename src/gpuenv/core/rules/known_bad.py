"""Rule `known-bad`: no combination known to install and then fail, or its workaround is in the plan."""

from __future__ import annotations

from functools import cache

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.core.case import Case, Failure, Found
from gpuenv.core.knowledge import Knowledge, KnownBad
from gpuenv.core.rules.python import full_version
from gpuenv.core.target import Target
from gpuenv.values.python import PythonOffer
from gpuenv.values.text import tr


def applying(
    case: Case, companions: tuple[Found, ...], python: PythonOffer, target: Target, knowledge: Knowledge
) -> tuple[KnownBad, ...]:
    """Return the known-bad rows whose every condition on torch, companions, Python and system holds.

    A condition on any other package is left to the row's `constrain`, which keeps it from becoming true.
    """
    facts: dict[str, Version | str] = {
        "torch": case.torch,
        "python": full_version(python),
        "os": target.machines[0].system.os,
        **{item.file.name: item.release for item in companions},
    }
    return tuple(row for row in _about(case.torch, knowledge) if _applies(row, facts))


@cache
def _about(torch: Version, knowledge: Knowledge) -> tuple[KnownBad, ...]:
    """The rows that can apply to a torch: most are about others."""
    return tuple(
        row
        for row in knowledge.known_bad
        if row.when and all(_holds(wanted, torch) for name, wanted in row.when if name == "torch")
    )


def _applies(row: KnownBad, facts: dict[str, Version | str]) -> bool:
    return all(
        _holds(wanted, facts[name]) if name in facts else name in _constrained(row.constrain)
        for name, wanted in row.when
    )


@cache
def _constrained(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(canonicalize_name(Requirement(text).name) for text in texts)


def _holds(wanted: SpecifierSet | str, fact: Version | str) -> bool:
    if isinstance(wanted, SpecifierSet):
        return isinstance(fact, Version) and wanted.contains(fact, prereleases=True)
    return wanted == fact


def check(case: Case, rows: tuple[KnownBad, ...]) -> tuple[Failure, ...]:
    """Return a failure for each applying row that has no workaround."""
    return tuple(
        Failure(
            "known-bad",
            ("known-bad", row.id),
            tr("{build}: {effect}; {remedy}", build=case.label, effect=row.effect, remedy=row.remedy),
            row.source,
        )
        for row in rows
        if row.forbid
    )


def constraints(rows: tuple[KnownBad, ...], installed: frozenset[str]) -> tuple[tuple[str, KnownBad], ...]:
    """Return the constraints on packages that will be there (`installed`), each with the row behind it."""
    return tuple(
        (text, row)
        for row in rows
        if not row.forbid
        for text in row.constrain
        if _constrained((text,)) <= installed
    )


def sentence(failures: tuple[Failure, ...]) -> str:
    """Say what the combination does, and what helps."""
    return failures[0].detail
