"""The fewest groups of machines such that one build works on all machines of a group.

A build that works on each of some machines nearly always works on all of them together. Which builds those
are is told kind by kind, by the rules that read a machine; whether one holds for a whole set of kinds is
decided by all the rules at once, so that those that judge machines together have their say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from gpuenv.fleet.grouping.machine_classes import MachineClass, picked
from gpuenv.fleet.grouping.questions import GroupResolver
from gpuenv.fleet.grouping.set_cover import Option, bits, fewest_groups
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.request import Request
from gpuenv.resolution.resolve import Solution
from gpuenv.resolution.rules import python

_MOST_DECISIONS = 3000  # for builds that hold apart but not together, of which there are next to none
_NO_CUDA = CudaVersion(0, 0)


@dataclass(frozen=True, slots=True)
class Together:
    """Kinds, by their places as bits of `mask`, on all of which `choice` works; it was decided for them."""

    mask: int
    choice: Solution


@dataclass(frozen=True, slots=True)
class Split:
    """The groups, the newest torch first, and the kinds that nothing works on."""

    groups: tuple[Together, ...]
    unserved: int
    possible: tuple[Together, ...]


def split(kinds: tuple[MachineClass, ...], asker: GroupResolver) -> Split:
    """Return the fewest groups; of equally few those whose oldest torch is newest, then the next oldest.

    Machines without a GPU are shared out last, and a kind stays together: with them the number alone is best.
    """
    possible = find_possible(kinds, asker)
    releases = sorted({one.choice.case.torch for one in possible}, reverse=True)
    options = [Option(one.mask, releases.index(one.choice.case.torch)) for one in possible]
    chosen = [possible[place] for place in fewest_groups(options)] if options else []
    groups = tuple(_share_out(chosen, kinds, asker))
    served = sum(group.mask for group in groups)
    return Split(groups, (1 << len(kinds)) - 1 & ~served, possible)


def _share_out(
    chosen: list[Together], kinds: tuple[MachineClass, ...], asker: GroupResolver
) -> Iterator[Together]:
    """Give each kind to the group with the newest torch that can hold it."""
    masks = [one.mask for one in chosen]
    taken = 0
    for place, one in enumerate(chosen):  # the newest torch first
        masks[place] &= ~taken
        if _lost_its_gpus(masks[place], one, kinds, asker):
            masks = [mask & ~one.mask for mask in masks[:place]] + [one.mask, *masks[place + 1 :]]
        taken |= masks[place]
    for mask, one in zip(masks, chosen, strict=True):
        choice = one.choice if mask == one.mask else _again(mask, one, kinds, asker)
        if choice is not None:
            yield Together(mask, choice)


def _lost_its_gpus(mask: int, one: Together, kinds: tuple[MachineClass, ...], asker: GroupResolver) -> bool:
    """Whether only machines without a GPU are left, for which there is no CPU build."""
    left = picked(kinds, mask)
    had = any(kind.has_gpus for kind in picked(kinds, one.mask))
    if not left or not had or any(kind.has_gpus for kind in left):
        return False
    return asker.best(left, asker.question.cases) is None


def _again(
    mask: int, one: Together, kinds: tuple[MachineClass, ...], asker: GroupResolver
) -> Solution | None:
    """The choice for a part of what went together: the same build, or what takes its place without GPUs.

    None where machines without a GPU can have no build but beside others, which are in another group.
    """
    part = picked(kinds, mask)
    if not part:
        return None
    return asker.best(part, (one.choice.case,)) or asker.best(part, asker.question.cases)


def find_possible(kinds: tuple[MachineClass, ...], asker: GroupResolver) -> tuple[Together, ...]:
    """Return the sets of kinds that can go together, each with the newest torch, newest first.

    A set that another holds is left out, unless its torch is newer.
    """
    finder = _Finder(kinds, asker)
    found: list[Together] = []
    cases = sorted(asker.question.cases, key=_in_order_of_preference, reverse=True)
    for _, alike in groupby(cases, key=lambda case: case.torch):
        found += finder.of_release(tuple(alike), found)
    return tuple(found)


def _in_order_of_preference(case: Candidate) -> tuple[object, ...]:
    return case.torch, case.cuda or _NO_CUDA


class _Finder:
    """Finds what can go together; counts its decisions, so that it comes to an end."""

    def __init__(self, kinds: tuple[MachineClass, ...], asker: GroupResolver) -> None:
        self._kinds, self._asker = kinds, asker
        self._pythons = _masks_of_pythons(kinds, asker.question.request)
        self._decisions = 0

    def of_release(self, cases: tuple[Candidate, ...], known: list[Together]) -> list[Together]:
        """Return what can go together with builds of one torch, beyond what newer ones hold."""
        found: list[Together] = []
        masks = ((self._asker.works.mask(case, self._kinds), case) for case in cases)
        waiting = [(mask & shared, case) for mask, case in masks for shared in self._pythons]
        while waiting:
            waiting.sort(key=lambda item: item[0].bit_count(), reverse=True)  # stable: preferred builds first
            mask, case = waiting.pop(0)
            if any(mask & ~one.mask == 0 for one in (*known, *found)):
                continue
            if not self._asker.works.is_looked_for(case, picked(self._kinds, mask)):
                continue
            if self._holds(mask, case):
                best = self._asker.best(picked(self._kinds, mask), cases)
                found += [Together(mask, best)] if best else []
            else:
                waiting += [(smaller, case) for smaller in self._smaller(mask, case)]
        return found

    def _holds(self, mask: int, case: Candidate) -> bool:
        self._decisions += 1
        if not mask or self._decisions > _MOST_DECISIONS:
            return False
        return self._asker.holds(picked(self._kinds, mask), case)

    def _smaller(self, mask: int, case: Candidate) -> list[int]:
        """Return what to try instead of kinds that a build does not work on together, though on each."""
        if mask.bit_count() <= 1 or not self._has_files(case):
            return []
        alone = sum(1 << place for place in bits(mask) if self._holds(1 << place, case))
        if alone != mask:  # a companion's own code, mostly
            return [alone]
        return [mask & ~(1 << place) for place in bits(self._conflict(mask, case))]

    def _conflict(self, mask: int, case: Candidate) -> int:
        """Return kinds none of which can be left out for the rest of them to go together."""
        for place in bits(mask):
            without = mask & ~(1 << place)
            if not self._holds(without, case):
                mask = without
        return mask

    def _has_files(self, case: Candidate) -> bool:
        """Whether a build is there for any machine at all, with a Python and its companions."""
        anywhere = self._kinds[0].target.only(()).with_glibc_assumed()
        offers = {offer.tag: offer for kind in self._kinds for offer in kind.pythons}
        return self._asker.holds((MachineClass(anywhere, tuple(offers.values()), ()),), case)


def _masks_of_pythons(kinds: tuple[MachineClass, ...], request: Request) -> tuple[int, ...]:
    """Return the sets of kinds that can have the same Python, the largest first."""
    masks: dict[str, int] = {}
    for place, kind in enumerate(kinds):
        for offer in python.admitted(kind.pythons, request.python):
            masks[offer.tag] = masks.get(offer.tag, 0) | 1 << place
    return tuple(sorted(set(masks.values()), key=lambda mask: (-mask.bit_count(), mask)))
