"""The fewest groups of machines such that one build works on all machines of a group.

A build that works on each of some machines nearly always works on all of them together. Which builds those
are is found class by class, by the rules that read one machine; whether a build works on a whole set of
classes is decided by all the rules at once, as some judge machines together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from gpuenv.fleet.grouping.compatibility import GroupResolver
from gpuenv.fleet.grouping.machine_classes import MachineClass, picked
from gpuenv.fleet.grouping.set_cover import Option, bits, fewest_groups
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import Request
from gpuenv.resolution.rules import python

_MOST_DECISIONS = 3000  # for builds that hold apart but not together, of which there are next to none
_NO_CUDA = CudaVersion(0, 0)


class Together(Struct, frozen=True):
    """Classes, as bits of `mask`, on all of which `choice` works; it was resolved for them."""

    mask: int
    choice: Solution


class Split(Struct, frozen=True):
    """The groups, the newest torch first, and the classes that nothing works on."""

    groups: tuple[Together, ...]
    unserved: int
    possible: tuple[Together, ...]


def split(classes: tuple[MachineClass, ...], resolver: GroupResolver) -> Split:
    """Return the fewest groups; of equally few those whose oldest torch is newest, then the next oldest.

    Machines without a GPU are assigned last, and a class stays together: with them the number alone is best.
    """
    possible = find_possible(classes, resolver)
    releases = sorted({group.choice.candidate.torch for group in possible}, reverse=True)
    options = [Option(group.mask, releases.index(group.choice.candidate.torch)) for group in possible]
    chosen = [possible[fewest_group] for fewest_group in fewest_groups(options)] if options else []
    groups = tuple(_share_out(chosen, classes, resolver))
    served = sum(group.mask for group in groups)
    return Split(groups, (1 << len(classes)) - 1 & ~served, possible)


def _share_out(
    chosen: list[Together], classes: tuple[MachineClass, ...], resolver: GroupResolver
) -> Iterator[Together]:
    """Give each class to the group with the newest torch that can hold it."""
    masks = [together.mask for together in chosen]
    taken = 0
    for position, group in enumerate(chosen):  # the newest torch first
        masks[position] &= ~taken
        if _lost_its_gpus(masks[position], group, classes, resolver):
            masks = [mask & ~group.mask for mask in masks[:position]] + [group.mask, *masks[position + 1 :]]
        taken |= masks[position]
    for mask, group in zip(masks, chosen, strict=True):
        solution = group.choice if mask == group.mask else _again(mask, group, classes, resolver)
        if solution is not None:
            yield Together(mask, solution)


def _lost_its_gpus(
    mask: int, group: Together, classes: tuple[MachineClass, ...], resolver: GroupResolver
) -> bool:
    """Whether only machines without a GPU are left, for which there is no CPU build."""
    left = picked(classes, mask)
    had = any(machine_class.has_gpus for machine_class in picked(classes, group.mask))
    if not left or not had or any(machine_class.has_gpus for machine_class in left):
        return False
    return resolver.best(left, resolver.question.candidates) is None


def _again(
    mask: int, group: Together, classes: tuple[MachineClass, ...], resolver: GroupResolver
) -> Solution | None:
    """The choice for a part of what went together: the same build, or what takes its place without GPUs.

    None where machines without a GPU can have no build but beside others, which are in another group.
    """
    part = picked(classes, mask)
    if not part:
        return None
    return resolver.best(part, (group.choice.candidate,)) or resolver.best(part, resolver.question.candidates)


def find_possible(classes: tuple[MachineClass, ...], resolver: GroupResolver) -> tuple[Together, ...]:
    """Return the sets of classes that can go together, each with the newest torch, newest first.

    A set that another holds is left out, unless its torch is newer.
    """
    finder = _Finder(classes, resolver)
    groups: list[Together] = []
    candidates = sorted(resolver.question.candidates, key=_in_order_of_preference, reverse=True)
    for _, alike in groupby(candidates, key=lambda candidate: candidate.torch):
        groups += finder.of_release(tuple(alike), groups)
    return tuple(groups)


def _in_order_of_preference(candidate: Candidate) -> tuple[object, ...]:
    return candidate.torch, candidate.cuda or _NO_CUDA


class _Finder:
    """Finds what can go together; counts its decisions, so that it comes to an end."""

    def __init__(self, classes: tuple[MachineClass, ...], resolver: GroupResolver) -> None:
        self._classes, self._resolver = classes, resolver
        self._pythons = _masks_of_pythons(classes, resolver.question.request)
        self._decisions = 0

    def of_release(self, candidates: tuple[Candidate, ...], known: list[Together]) -> list[Together]:
        """Return what can go together with builds of one torch, beyond what newer ones hold."""
        groups: list[Together] = []
        masks = ((self._resolver.works.mask(case, self._classes), case) for case in candidates)
        waiting = [(mask & shared, case) for mask, case in masks for shared in self._pythons]
        while waiting:
            waiting.sort(key=lambda item: item[0].bit_count(), reverse=True)  # stable: preferred builds first
            mask, candidate = waiting.pop(0)
            if any(mask & ~group.mask == 0 for group in (*known, *groups)):
                continue
            if not self._resolver.works.is_looked_for(candidate, picked(self._classes, mask)):
                continue
            if self._holds(mask, candidate):
                best = self._resolver.best(picked(self._classes, mask), candidates)
                groups += [Together(mask, best)] if best else []
            else:
                waiting += [(smaller, candidate) for smaller in self._smaller(mask, candidate)]
        return groups

    def _holds(self, mask: int, candidate: Candidate) -> bool:
        self._decisions += 1
        if not mask or self._decisions > _MOST_DECISIONS:
            return False
        return self._resolver.holds(picked(self._classes, mask), candidate)

    def _smaller(self, mask: int, candidate: Candidate) -> list[int]:
        """Return what to try instead of classes that a build does not work on together, though on each."""
        if mask.bit_count() <= 1 or not self._has_files(candidate):
            return []
        alone = sum(1 << bit for bit in bits(mask) if self._holds(1 << bit, candidate))
        if alone != mask:  # a companion's own code, mostly
            return [alone]
        return [mask & ~(1 << bit) for bit in bits(self._conflict(mask, candidate))]

    def _conflict(self, mask: int, candidate: Candidate) -> int:
        """Return classes none of which can be left out for the rest of them to go together."""
        for bit in bits(mask):
            without = mask & ~(1 << bit)
            if not self._holds(without, candidate):
                mask = without
        return mask

    def _has_files(self, candidate: Candidate) -> bool:
        """Whether a build is there for any machine at all, with a Python and its companions."""
        anywhere = self._classes[0].target.only(()).with_glibc_assumed()
        offers = {offer.tag: offer for machine_class in self._classes for offer in machine_class.pythons}
        return self._resolver.holds((MachineClass(anywhere, tuple(offers.values()), ()),), candidate)


def _masks_of_pythons(classes: tuple[MachineClass, ...], request: Request) -> tuple[int, ...]:
    """Return the sets of classes that can have the same Python, the largest first."""
    masks: dict[str, int] = {}
    for position, machine_class in enumerate(classes):
        for offer in python.admitted(machine_class.pythons, request.python):
            masks[offer.tag] = masks.get(offer.tag, 0) | 1 << position
    return tuple(sorted(set(masks.values()), key=lambda mask: (-mask.bit_count(), mask)))
