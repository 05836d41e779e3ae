"""Answers that are waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from gpuenv.concurrency.background import BackgroundTask
from gpuenv.http.errors import HttpProblem, timed_out

T = TypeVar("T")


class Pending(Generic[T]):
    """An answer that needs no network; it is read when it is asked for."""

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read

    def result(self) -> T:
        """Return the answer; raise HttpProblem where there is none."""
        return self._read()


class Requested(Pending[T]):
    """An answer that a daemon thread gets, with a time limit that includes name look-ups and slow headers."""

    def __init__(self, get: Callable[[], T], limit_s: float) -> None:
        self._limit_s = limit_s
        self._ends = time.monotonic() + limit_s
        self._task = BackgroundTask(get)
        super().__init__(self._wait)

    def _wait(self) -> T:
        if not self._task.is_done(within_s=max(0.0, self._ends - time.monotonic())):
            raise HttpProblem(timed_out(self._limit_s))
        return self._task.result()
