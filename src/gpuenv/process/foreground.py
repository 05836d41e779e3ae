"""Run the user's own command in the foreground."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING

from gpuenv.files import cache_lock
from gpuenv.process.surroundings import program_path

if TYPE_CHECKING:
    import subprocess


def run_foreground(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run `argv` with our own streams; return its exit code, 128+N after signal N. Raises OSError."""
    import subprocess  # noqa: PLC0415 - not to become a command

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


def become(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Let `argv` take the place of this process; on Windows run it and return its exit code.

    Who started gpuenv sees the command's own exit status or signal, and the command's own process id. Raises
    OSError when it can't be started.
    """
    if sys.platform == "win32":
        return run_foreground(argv, environ)
    program = program_path(argv[0], environ)
    cache_lock.unlock()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # a signal that has come is raised here; a later one ends this process, or the command in its place
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name)
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for name in ("SIGPIPE", "SIGXFSZ"):  # which Python ignores, and a command would inherit that
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    return os.execve(program, [program, *argv[1:]], dict(environ))  # noqa: S606 - there is no shell to start


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
