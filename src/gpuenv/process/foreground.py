"""Run the user's own command in the foreground."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import FrameType

from gpuenv.files import cache_lock
from gpuenv.process.surroundings import program_path


def run_foreground(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run `argv` with our own stdin, stdout and stderr; return its exit code, 128+N after signal N.

    Ctrl-C is left to the child; SIGTERM and SIGHUP are sent on. Raises OSError when it cannot be started.
    """
    cache_lock.unlock()
    passing = _Passing()
    numbers = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if sys.platform != "win32" else ()))
    previous = {number: signal.signal(number, passing) for number in numbers}
    try:
        # Windows would look for the program on our PATH, not on the one it is given.
        program = program_path(argv[0], environ)
        with subprocess.Popen([program, *argv[1:]], env=dict(environ)) as child:
            passing.begin(child)
            returncode = child.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 128 - returncode if returncode < 0 else returncode


class _Passing:
    """Forwards signals to a child, those that arrive before its start once it runs."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self._child is None:
            self._early.append(number)
        elif number != signal.SIGINT:  # the terminal sends it to the child, too
            self._child.send_signal(number)

    def begin(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        for number in self._early:
            child.send_signal(number)
