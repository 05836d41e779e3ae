"""Values computed once for each of some objects, which are known again by their identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class ByIdentity(Generic[Key, Value]):
    """Computes a value once for each of the last objects: to hash those would take as long.

    The objects must not change. They are kept, so that their identity is nobody else's.
    """

    def __init__(self, compute: Callable[[Key], Value], most: int = 128) -> None:
        self._compute, self._most = compute, most
        self._kept: dict[int, tuple[Key, Value]] = {}

    def __call__(self, key: Key) -> Value:
        """Return the value of an object."""
        kept = self._kept.get(id(key))
        if kept is None:
            if len(self._kept) >= self._most:
                self._kept = {}
            kept = self._kept[id(key)] = key, self._compute(key)
        return kept[1]
