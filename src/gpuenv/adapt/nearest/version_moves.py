"""How many packages move, and how far: which of two adaptations is the smaller one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from packaging.version import Version


@dataclass(frozen=True, slots=True, order=True)
class Moves:
    """How many packages move, and how far in all: by major releases, by minor ones, by those below."""

    count: int = 0
    far: tuple[int, int, int] = (0, 0, 0)


def moves_between(pairs: Iterable[tuple[Version | None, Version]]) -> Moves:
    """Return the moves from pins to releases; how far is not known where a range was asked for."""
    pairs = tuple(pairs)
    steps = [_step(old, new) for old, new in pairs if old is not None]
    major, minor, micro = (sum(step[part] for step in steps) for part in range(3))
    return Moves(len(pairs), (major, minor, micro))


def _step(old: Version, new: Version) -> tuple[int, int, int]:
    """Return how far a release lies from another, in the first part in which they differ."""
    if old.major != new.major:
        return abs(old.major - new.major), 0, 0
    if old.minor != new.minor:
        return 0, abs(old.minor - new.minor), 0
    return 0, 0, abs(old.micro - new.micro)
