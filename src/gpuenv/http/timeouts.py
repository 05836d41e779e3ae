"""How long a download may take, and how often it is tried."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct

from gpuenv.http.errors import HttpProblem
from gpuenv.i18n.messages import tr


class Patience(Struct, frozen=True):
    """The slowest download that is accepted, and how often it is retried.

    A server must send `slow_bytes` in `slow_s` seconds. `tries` in a row may bring nothing new, the
    connection may break `breaks` times in all, and the file is started anew `restarts` times.
    """

    slow_bytes: int = 500 << 10
    slow_s: float = 20.0
    tries: int = 3
    breaks: int = 100
    restarts: int = 3
    pause_s: float = 0.3  # before a second try in a row, doubled before each further one


class Watch(Struct, frozen=True):
    """Callbacks of a download: `received` gets byte counts, negative ones for what is read again."""

    received: Callable[[int], None] = lambda _: None
    stop: threading.Event | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether the download is to stop."""
        return self.stop is not None and self.stop.is_set()


class TooSlowError(HttpProblem):
    """The server sends too slowly."""


class StoppedError(Exception):
    """The caller stopped the download."""


class MinimumRate:
    """Checks the speed of a download in each period of `slow_s` seconds."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._since = time.monotonic()
        self._received = 0

    def check(self, count: int) -> None:
        """Count bytes; raise TooSlowError at the end of a period with too few."""
        self._received += count
        passed_s = time.monotonic() - self._since
        if passed_s < self._patience.slow_s:
            return
        if self._received * self._patience.slow_s < self._patience.slow_bytes * passed_s:
            raise TooSlowError(tr("is too slow: {rate:.0f} kB/s", rate=self._received / passed_s / 1000))
        self._since, self._received = time.monotonic(), 0
