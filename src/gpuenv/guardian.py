"""End what gpuenv has started when gpuenv itself is killed.

SIGKILL leaves no time to end children. A shell beside gpuenv, in a session of its own, is told the process
groups that run and kills those left once its pipe closes. PR_SET_PDEATHSIG would end the child alone, not its
group, and has to be set between fork and exec, which Python can't do safely beside threads.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress

_SHELL = "/bin/sh"
# only what the shell has built in: it is started without PATH
_SCRIPT = """trap '' INT TERM HUP
groups=' '
while read -r sign group; do
    case $sign in
        +) groups="$groups$group " ;;
        -) case $groups in *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;; esac ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class _Guardian:
    """The shell, and the end of the pipe that it reads; None where it was not started or can't be."""

    process: int | None = None
    pipe: int | None = None
    lock = threading.Lock()


def prepare() -> None:
    """Start the shell, where there is none yet: before what it is to watch."""
    if sys.platform == "linux":
        with _Guardian.lock:
            if _Guardian.pipe is None:
                _start()


def watch(group: int) -> None:
    """Let this process group be killed when this process ends without `forget`."""
    _tell("+", group)


def forget(group: int) -> None:
    """Let a process group be; to be called while its number is surely its own."""
    _tell("-", group)


def _tell(sign: str, group: int) -> None:
    if _Guardian.pipe is not None:
        with suppress(OSError):  # somebody has ended it
            os.write(_Guardian.pipe, f"{sign} {group}\n".encode())


def _start() -> None:
    theirs, ours = os.pipe()
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    try:
        _Guardian.process = os.posix_spawn(
            _SHELL,
            ("sh", "-c", _SCRIPT),
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 0), *nothing],
            setsid=True,
        )
    except (OSError, NotImplementedError):  # no shell, no more processes, an old C library
        os.close(ours)
        ours = os.open(os.devnull, os.O_WRONLY)
    os.close(theirs)
    _Guardian.pipe = ours
    atexit.register(_stop, os.getpid())


def _stop(owner: int) -> None:
    """Let it end, and wait for it: nothing of gpuenv's outlives a run that ends."""
    process, pipe = _Guardian.process, _Guardian.pipe
    _Guardian.process = _Guardian.pipe = None
    if pipe is not None:
        os.close(pipe)
    if process is not None and os.getpid() == owner:
        with suppress(ChildProcessError):
            os.waitpid(process, 0)
