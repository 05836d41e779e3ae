"""How many connections may read large files at a time."""

from __future__ import annotations

import threading

MOST = 3  # mirrors ban those who take more


class Allowance:
    """Counts connections; thread-safe. Each file has one in any case, others only while there are few."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._taken = 0
        self._lock = threading.Lock()

    def take(self) -> None:
        """Count a connection that a file cannot do without."""
        with self._lock:
            self._taken += 1

    def take_free(self) -> bool:
        """Count a connection if there are fewer than `most`; return whether there were."""
        with self._lock:
            free = self._taken < self._most
            self._taken += free
            return free

    def give_back(self) -> None:
        """Count a connection less."""
        with self._lock:
            self._taken -= 1
