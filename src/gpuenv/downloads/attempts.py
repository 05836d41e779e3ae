"""How often a download is tried again."""

from __future__ import annotations

from gpuenv.http.errors import HttpProblem
from gpuenv.http.ranges import BrokenFileError
from gpuenv.http.reasons import is_lasting
from gpuenv.http.timeouts import Patience, TooSlowError
from gpuenv.i18n.messages import tr

_LONGEST_PAUSE_S = 5.0


class Attempts:
    """Counts what went wrong, until patience is at its end."""

    def __init__(self, patience: Patience, received: int) -> None:
        self._patience = patience
        self._received = received
        self._restarts = self._idle = self._breaks = 0

    def broken(self, problem: HttpProblem, received: int) -> float:
        """Return after how many seconds to try again; raise the problem where that is of no use."""
        self._idle = 0 if received > self._received else self._idle + 1
        self._breaks += 1
        self._received = received
        tired = self._idle >= self._patience.tries or self._breaks >= self._patience.breaks
        if tired or problem.status is not None or isinstance(problem, TooSlowError) or is_lasting(problem):
            raise problem
        return min(_LONGEST_PAUSE_S, self._patience.pause_s * 2 ** (self._idle - 1)) if self._idle else 0.0

    def restarted(self, *, is_other: bool) -> None:
        """Count a new beginning, of another file if `is_other`; raise where there were too many of them."""
        self._restarts += 1
        if self._restarts <= self._patience.restarts:
            return
        if is_other:
            raise BrokenFileError(tr("was replaced while it was read"))
        raise HttpProblem(tr("closed the connection and does not support resuming"))
