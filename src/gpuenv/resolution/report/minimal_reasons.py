"""The fewest reasons that cover every rejected build."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from gpuenv.resolution.candidate import Failure
from gpuenv.resolution.decision import RejectedCandidate

_Key = tuple[str, ...]
_Groups = Mapping[_Key, Mapping[int, Failure]]
_MOST_TRIED = 20_000  # combinations; beyond that the greedy choice stands


def fewest_reasons(
    rejected: tuple[RejectedCandidate, ...], ranks: Mapping[str, int]
) -> tuple[tuple[Failure, ...], ...]:
    """Return groups of failures, one key each, that cover every build; the group that tells most first.

    Each build stands in one group: in the one that tells fewest, so that the others need say less. Of equally
    few, reasons whose rule ranks first are taken.
    """
    groups = _grouped(rejected)
    keys = sorted(groups, key=lambda key: (ranks[key[0]], -len(groups[key])))
    chosen = _fewer(keys, groups, _greedy(keys, groups))
    return _shared_out(chosen, groups)


def conflict_sets(
    rejected: tuple[RejectedCandidate, ...], ranks: Mapping[str, int]
) -> tuple[tuple[Failure, ...], ...]:
    """Return the fewest reasons, and what else would have to change for the build that is nearest to running.

    With the fewest alone a person would change one fact, only to be told of the next. Where the GPU alone
    says it all, nothing is added: it is not changed for a driver's sake.
    """
    groups = fewest_reasons(rejected, ranks)
    reported = {_fact(group[0]) for group in groups}
    if all(fact[0] == "gpu" for fact in reported):
        return groups
    left = [{_fact(failure): failure.key for failure in reversed(item.failures)} for item in rejected]
    rests = [{fact: key for fact, key in facts.items() if fact not in reported} for facts in left]
    nearest = min(rests, key=len, default={})
    more = sorted(nearest.values(), key=lambda key: ranks[key[0]])
    by_key = _grouped(rejected)
    return (*groups, *(tuple(by_key[key].values()) for key in more))


def _fact(failure: Failure) -> _Key:
    """The fact that would have to change: what has no code for a GPU and what left it behind are one."""
    key = failure.key
    if key[0] in ("kernels", "library") and key[1] not in ("ptx", "unknown"):
        return ("gpu", key[-1])
    return key


def _grouped(rejected: tuple[RejectedCandidate, ...]) -> _Groups:
    groups: dict[_Key, dict[int, Failure]] = defaultdict(dict)
    for number, item in enumerate(rejected):
        for failure in item.failures:
            groups[failure.key].setdefault(number, failure)
    return groups


def _greedy(keys: list[_Key], groups: _Groups) -> tuple[_Key, ...]:
    left = {number for key in keys for number in groups[key]}
    chosen: list[_Key] = []
    while left:
        best = max(keys, key=lambda key: len(left & groups[key].keys()))
        chosen.append(best)
        left -= groups[best].keys()
    return tuple(chosen)


def _fewer(keys: list[_Key], groups: _Groups, greedy: tuple[_Key, ...]) -> tuple[_Key, ...]:
    """Return a smaller cover than the greedy one where there is any: the greedy need not be the smallest."""
    masks = [sum(1 << number for number in groups[key]) for key in keys]
    whole = 0
    for mask in masks:
        whole |= mask
    tried = 0
    for count in range(1, len(greedy)):
        for places in combinations(range(len(keys)), count):
            tried += 1
            covered = 0
            for position in places:
                covered |= masks[position]
            if covered == whole:
                return tuple(keys[offset] for offset in places)
            if tried > _MOST_TRIED:
                return greedy
    return greedy


def _shared_out(chosen: tuple[_Key, ...], groups: _Groups) -> tuple[tuple[Failure, ...], ...]:
    taken: set[int] = set()
    shares = []
    for key in sorted(chosen, key=lambda key: len(groups[key])):
        numbers = sorted(groups[key].keys() - taken)
        taken.update(numbers)
        shares.append(tuple(groups[key][number] for number in numbers))
    return tuple(sorted((share for share in shares if share), key=len, reverse=True))
