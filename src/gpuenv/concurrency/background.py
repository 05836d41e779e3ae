"""Work that goes on beside the caller's; concurrent.futures would take as long to load as it takes to do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundTask(Generic[T]):
    """One piece of work in a thread of its own; a daemon, so that it keeps no interrupted program alive."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._answer: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            self._error = error

    def is_done(self, *, within_s: float) -> bool:
        """Wait for the work at most so many seconds; return whether it is done."""
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait for the work, whatever comes of it."""
        self._thread.join()

    def result(self) -> T:
        """Wait for the work; return its result, or raise what it raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._answer  # type: ignore[return-value]
