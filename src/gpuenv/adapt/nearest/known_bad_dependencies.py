"""What must change of the packages beside the torch stack, because they are known to fail with a choice."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.adapt.nearest.request import freed
from gpuenv.i18n.messages import gettext, tr
from gpuenv.knowledge.records import KnownBad
from gpuenv.knowledge.version_ranges import lies_apart, lies_within
from gpuenv.model.errors import Because
from gpuenv.resolution.candidate import IndexedFile
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.known_bad_facts import KnownBadFacts, known_bad_facts
from gpuenv.resolution.request import Request
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import known_bad

_OPPOSITES = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}


class ConflictingPin(Struct, frozen=True):
    """A package beside the stack that can't stay as it is asked for; `text` is what is asked instead.

    Without `text` no release is known that could. `far` is how many releases a package moves that torch pins,
    or that pins torch; 0 of others. `whole`: `text` is in the place of all that is asked for, another name,
    too; without it that goes.
    """

    project: str
    text: str | None
    because: Because
    far: int = 0
    whole: bool = False


class Settled(Struct, frozen=True):
    """A choice with the request that goes with it, and what was changed in that."""

    solution: Solution
    request: Request
    moved: tuple[ConflictingPin, ...]


def with_others_free(request: Request) -> Request:
    """Return the request with every package free: what is known to be bad of them is mended, not refused."""
    return replace(request, requirements=tuple(map(freed, request.requirements)))


def settle(
    solution: Solution, companions: tuple[IndexedFile, ...], question: ResolutionInput
) -> Settled | None:
    """Return the choice with these companions and the least change of other packages that makes it sound.

    None where nothing of them would: the combination is bad whatever is beside it.
    """
    request = question.request
    moved: tuple[ConflictingPin, ...] = ()
    for _ in range(len(request.others) + 1):
        situation = known_bad_facts(solution.candidate, companions, solution.python, question.target, request)
        rows = known_bad.applying(situation, question.knowledge)
        failures = known_bad.check(solution.candidate, rows, situation)
        if not failures:
            return Settled(replace(solution, companions=companions, known_bad=rows), request, moved)
        row = next(row for row in rows if row.id == failures[0].subject)
        mended = _mended(row, situation)
        if mended is None:
            return None
        request, moved = with_moved(request, mended), (*moved, mended)
    return None


def with_moved(request: Request, pin: ConflictingPin) -> Request:
    """Return the request with what a package becomes."""
    if pin.whole:
        request = request.without_project(pin.project)
    return request.with_requirement(pin.text) if pin.text else request


def because_of(row: KnownBad) -> Because:
    """Say what happens where a known-bad combination stays."""
    return Because(tr("without it: {effect}", effect=gettext(row.effect)), row.source)


def _mended(row: KnownBad, situation: KnownBadFacts) -> ConflictingPin | None:
    """Return what to ask of the package that a row is about instead of what is asked."""
    for item in row.when:
        for name, bad in item:
            wanted = situation.requested.get(name)
            if wanted is None or isinstance(bad, str) or not lies_within(wanted, bad):
                continue
            named = (item for item in map(Requirement, row.constrain) if canonicalize_name(item.name) == name)
            good = next((item.specifier for item in named), None) or _opposite(bad)
            if good is not None and not lies_within(good, bad):
                return ConflictingPin(name, f"{name}{good}", because_of(row))
    return None


def _opposite(bad: SpecifierSet) -> SpecifierSet | None:
    """Return what is not `bad`: of several bounds, what lies above the upper one."""
    items: list[Specifier] = sorted(bad, key=lambda item: item.operator not in ("<", "<="))
    specifier = next((item for item in items if item.operator in _OPPOSITES), None)
    return SpecifierSet(f"{_OPPOSITES[specifier.operator]}{specifier.version}") if specifier else None


def tightened(specifiers: SpecifierSet, constraint: SpecifierSet) -> SpecifierSet:
    """Return both joined, or the constraint alone where it says all, or where they contradict each other."""
    if lies_apart(specifiers, constraint) or lies_within(constraint, specifiers):
        return constraint
    return specifiers & constraint
