"""How long a download is waited for, and who may end it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from gpuenv.http.errors import HttpProblem
from gpuenv.i18n.messages import tr


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server is listened to; for how many seconds it may be silent, the client's limits say.

    `slow_bytes` in `slow_s` seconds are the least it must send; 0: any pace will do. `tries` in a row may
    bring nothing new, the connection may break `breaks` times in all, and where the server can't go on in the
    middle, the file is begun anew `restarts` times.
    """

    slow_bytes: int = 500 << 10
    slow_s: float = 20.0
    tries: int = 3
    breaks: int = 100
    restarts: int = 3
    pause_s: float = 0.3  # before a second try in a row, doubled before each further one


@dataclass(frozen=True, slots=True)
class Watch:
    """How a download is followed: `received` is told bytes (fewer than 0: they are read again)."""

    received: Callable[[int], None] = lambda _: None
    stop: threading.Event | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether whoever follows it wants it no more."""
        return self.stop is not None and self.stop.is_set()


class TooSlowError(HttpProblem):
    """The server sends, but less than it must."""


class StoppedError(Exception):
    """Whoever asked for the file has told us to stop."""


class MinimumRate:
    """Whether enough comes in each stretch of time."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._since = time.monotonic()
        self._received = 0

    def check(self, count: int) -> None:
        """Count bytes; raise TooSlowError at the end of a stretch that brought too few."""
        self._received += count
        passed_s = time.monotonic() - self._since
        if passed_s < self._patience.slow_s:
            return
        if self._received * self._patience.slow_s < self._patience.slow_bytes * passed_s:
            raise TooSlowError(tr("is too slow: {rate:.0f} kB/s", rate=self._received / passed_s / 1000))
        self._since, self._received = time.monotonic(), 0
