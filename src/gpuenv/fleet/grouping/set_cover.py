"""The fewest groups that hold everything, of the sets that may go together.

Sets are bit masks. Each has a rank: 0 for the best build there is, more for worse ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

_MOST_STEPS = 100_000  # beyond that the best cover found so far stands; real labs need a few hundred


class Option(Struct, frozen=True):
    """A set that may go together, in one group, whole or in part."""

    mask: int
    rank: int


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def fewest_groups(options: Sequence[Option]) -> tuple[int, ...]:
    """Return the positions of the fewest options that together hold all that any option holds.

    Of equally few the worst is as good as can be, then the next worst, and so on. This is exact, by branch
    and bound, as long as it takes no more than a set number of steps; then the best found so far stands.
    """
    whole = 0
    for option in options:
        whole |= option.mask
    search = _Search(tuple(options), _greedy(options, whole))
    search.run(whole, ())
    return tuple(sorted(search.best, key=lambda position: (options[position].rank, position)))


def _greedy(options: Sequence[Option], whole: int) -> tuple[int, ...]:
    chosen: list[int] = []
    while whole:
        position = max(range(len(options)), key=lambda number: (options[number].mask & whole).bit_count())
        chosen.append(position)
        whole &= ~options[position].mask
    return tuple(chosen)


class _Search(Struct):
    options: tuple[Option, ...]
    best: tuple[int, ...]
    _steps: int = field(default=0)

    def run(self, left: int, chosen: tuple[int, ...]) -> None:
        """Try everything that may be better than the best so far."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return
        if not left:
            if self._cost(chosen) < self._cost(self.best):
                self.best = chosen
            return
        useful = self._useful(left)
        if self._least_cost(left, chosen, useful) >= self._cost(self.best):
            return
        for branch in self._branches(left, useful):
            self.run(left & ~self.options[branch].mask, (*chosen, branch))

    def _cost(self, chosen: tuple[int, ...]) -> tuple[int, list[int]]:
        return len(chosen), sorted((self.options[position].rank for position in chosen), reverse=True)

    def _least_cost(
        self, left: int, chosen: tuple[int, ...], useful: tuple[int, ...]
    ) -> tuple[int, list[int]]:
        """What at least is paid for the rest: so many sets, one of them as bad as what is hardest to hold."""
        largest = max((self.options[position].mask & left).bit_count() for position in useful)
        more = -(-left.bit_count() // largest)
        hardest = max(
            min(self.options[position].rank for position in useful if self.options[position].mask >> bit & 1)
            for bit in bits(left)
        )
        ranks = [self.options[position].rank for position in chosen] + [hardest] + [0] * (more - 1)
        return len(chosen) + more, sorted(ranks, reverse=True)

    def _useful(self, left: int) -> tuple[int, ...]:
        """Leave out what another option holds as well, in a group that is as good."""
        ordered = sorted(
            (offset for offset, option in enumerate(self.options) if option.mask & left),
            key=lambda offset: (self.options[offset].rank, -(self.options[offset].mask & left).bit_count()),
        )
        kept: list[int] = []
        for position in ordered:
            held = self.options[position].mask & left
            if not any(held & ~self.options[other].mask == 0 for other in kept):
                kept.append(position)
        return tuple(kept)

    def _branches(self, left: int, useful: tuple[int, ...]) -> list[int]:
        """The options for what fewest can hold: one of them must be taken. The largest first."""
        holders = (
            [position for position in useful if self.options[position].mask >> bit & 1] for bit in bits(left)
        )
        fewest = min(holders, key=len)
        return sorted(fewest, key=lambda position: -(self.options[position].mask & left).bit_count())
