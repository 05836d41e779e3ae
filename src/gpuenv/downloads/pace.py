"""How many connections a download has, and how large the parts are that they ask for; decided by its pace."""

from __future__ import annotations

from msgspec import Struct

_FASTER = 1.15
_PART_S = 1.5  # so long that the pause between two requests matters little
_LEAST_S = 0.25
_LARGEST_PART = 8 << 20


class Sharing(Struct, frozen=True):
    """When a file is shared between connections; seconds, and bytes.

    A further connection is added after `period_s`, if what is left takes longer than `worth_s`; connections
    are slow at first, for `start_s`. One that brings nothing for `silent_s` gets a second beside it.
    """

    start_s: float = 0.4
    period_s: float = 1.0
    worth_s: float = 3.0
    silent_s: float = 2.0
    look_s: float = 0.2
    least_part: int = 512 << 10


class Pace:
    """Measures a download: a further connection is worth it as long as the one before made it faster."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing
        self._since_s: float | None = None
        self._since = 0
        self._before = 0.0  # bytes per second, before the last connection was added
        self._now = self._best = 0.0
        self.settled = False

    def measure(self, now_s: float, received: int) -> bool:
        """Note how much was received; return whether a period has ended: then one more may be added."""
        if self._since_s is None:
            if received:
                self._since_s, self._since = now_s + self._sharing.start_s, received
            return False
        if now_s < self._since_s:
            self._since = received
            return False
        passed_s = now_s - self._since_s
        if passed_s < self._sharing.period_s:
            return False
        self._now = (received - self._since) / passed_s
        self._best = max(self._best, self._now)
        self._since_s, self._since = now_s, received
        return True

    def wants_more(self, missing: int) -> bool:
        """Return whether one more connection would be of use; the last one having been of none settles it."""
        if self._now < self._before * _FASTER:
            self.settled = True
        return not self.settled and missing > self._now * self._sharing.worth_s

    def added(self, now_s: float) -> None:
        """Begin a new period, as there is one more connection."""
        self._before, self._since_s = self._now, now_s + self._sharing.start_s

    def part_size(self, connections: int, unread: int) -> int:
        """Return how many bytes one connection asks for; fewer at the end, so that all end together."""
        each = self._best / connections  # a silence says nothing of what comes after it
        size = min(_LARGEST_PART, int(each * _PART_S), unread // (2 * connections))
        return max(self._sharing.least_part, size, int(each * _LEAST_S))
