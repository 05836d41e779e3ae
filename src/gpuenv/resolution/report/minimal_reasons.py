"""The fewest reasons that cover every rejected build."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from gpuenv.model.plan import RULES
from gpuenv.resolution.candidate import Failure, FailureKey
from gpuenv.resolution.decision import RejectedCandidate

_Groups = Mapping[FailureKey, Mapping[int, Failure]]
_GPU = "gpu"
_RANKS = {rule: rank for rank, rule in enumerate(RULES)}
_MOST_TRIED = 20_000  # combinations; beyond that the greedy choice stands


def fewest_reasons(
    rejected: tuple[RejectedCandidate, ...],
) -> tuple[tuple[Failure, ...], ...]:
    """Return groups of failures, one key each, that cover every build; the group that tells most first.

    Each build stands in one group: in the one that tells fewest, so that the others need say less. Of equally
    few, reasons whose rule ranks first are taken.
    """
    groups = _grouped(rejected)
    keys = sorted(groups, key=lambda key: (_RANKS[key.rule], -len(groups[key])))
    chosen = _fewer(keys, groups, _greedy(keys, groups))
    return _shared_out(chosen, groups)


def conflict_sets(
    rejected: tuple[RejectedCandidate, ...],
) -> tuple[tuple[Failure, ...], ...]:
    """Return the fewest reasons, and what else would have to change for the build that is nearest to running.

    With the fewest alone a person would change one fact, only to learn of the next. Where the GPU alone
    says it all, nothing is added: it is not changed for a driver's sake.
    """
    groups = fewest_reasons(rejected)
    reported = {_fact(group[0]) for group in groups}
    if all(fact.rule == _GPU for fact in reported):
        return groups
    left = [{_fact(failure): failure.key for failure in reversed(item.failures)} for item in rejected]
    rests = [{fact: key for fact, key in facts.items() if fact not in reported} for facts in left]
    nearest = min(rests, key=len, default={})
    more = sorted(nearest.values(), key=lambda key: _RANKS[key.rule])
    by_key = _grouped(rejected)
    return (*groups, *(tuple(by_key[key].values()) for key in more))


def _fact(failure: Failure) -> FailureKey:
    """The fact that would have to change: what has no code for a GPU and what left it behind are one."""
    if failure.rule in ("kernels", "library") and failure.kind not in ("ptx", "unknown"):
        return FailureKey(_GPU, "", failure.subject)
    return failure.key


def _grouped(rejected: tuple[RejectedCandidate, ...]) -> _Groups:
    groups: dict[FailureKey, dict[int, Failure]] = defaultdict(dict)
    for number, item in enumerate(rejected):
        for failure in item.failures:
            groups[failure.key].setdefault(number, failure)
    return groups


def _greedy(keys: list[FailureKey], groups: _Groups) -> tuple[FailureKey, ...]:
    left = {number for key in keys for number in groups[key]}
    chosen: list[FailureKey] = []
    while left:
        best = max(keys, key=lambda key: len(left & groups[key].keys()))
        chosen.append(best)
        left -= groups[best].keys()
    return tuple(chosen)


def _fewer(keys: list[FailureKey], groups: _Groups, greedy: tuple[FailureKey, ...]) -> tuple[FailureKey, ...]:
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


def _shared_out(chosen: tuple[FailureKey, ...], groups: _Groups) -> tuple[tuple[Failure, ...], ...]:
    taken: set[int] = set()
    shares = []
    for key in sorted(chosen, key=lambda key: len(groups[key])):
        numbers = sorted(groups[key].keys() - taken)
        taken.update(numbers)
        shares.append(tuple(groups[key][number] for number in numbers))
    return tuple(sorted((share for share in shares if share), key=len, reverse=True))
