"""End gpuenv's children, and remove its temporary folders, when gpuenv itself is killed.

SIGKILL leaves no time for it. A shell in a session of its own gets the process groups and folders in use by a
pipe, and kills and removes them once the pipe closes; without a farewell it also looks for a variable that
all children have, as one may have been started and not been told of. PR_SET_PDEATHSIG would end the child
alone, not its group, and must be set between fork and exec, which Python cannot do safely with threads.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_SHELL = "/bin/sh"
_VARIABLE = "_GPUENV_GUARDED"
# only what the shell has built in, and rm, by absolute paths
_SCRIPT = """trap '' INT TERM HUP
groups=' '
line='
'
folders=$line
ended=
while IFS= read -r word; do
    rest=${word#? }
    case $word in
        '+ '*) groups="$groups$rest " ;;
        '- '*) case $groups in *" $rest "*) groups="${groups%%" $rest "*} ${groups#*" $rest "}" ;; esac ;;
        '. '*) ended=yes ;;
        '> '*) folders="$folders$rest$line" ;;
        '< '*) case $folders in *"$line$rest$line"*)
            folders="${folders%%"$line$rest$line"*}$line${folders#*"$line$rest$line"}" ;; esac ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
if [ -z "$ended" ]; then
    for process in /proc/[0-9]*; do
        while IFS= read -r word || [ "$word" ]; do
            case $word in *"$1"*) kill -s KILL "${process#/proc/}" ;; esac
        done < "$process/environ"
    done
fi
set -f
IFS=$line
for folder in $folders; do /bin/rm -rf -- "$folder"; done
"""


class _Guardian:
    """The shell and the pipe to it; None where it was not started."""

    process: int | None = None
    pipe: int | None = None
    mark = ""
    lock = threading.Lock()


def prepare() -> None:
    """Start the shell, if it does not run yet, before anything that it is to watch."""
    if sys.platform == "linux":
        with _Guardian.lock:
            if _Guardian.pipe is None:
                _start()


def marked() -> dict[str, str]:
    """Return the variable by which a child is found."""
    return {_VARIABLE: _Guardian.mark} if _Guardian.pipe is not None else {}


def watch(group: int) -> None:
    """Let this process group be killed when this process ends without `forget`."""
    _tell("+", group)


def forget(group: int) -> None:
    """Stop watching a process group; call it while its id is still reserved."""
    _tell("-", group)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """Create a folder that is removed at the end of the block, or when gpuenv is killed; raise OSError."""
    import tempfile  # noqa: PLC0415 - only some commands need any

    prepare()
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        watch_folder(folder)
        try:
            yield folder
        finally:
            _tell("<", folder)


def watch_folder(folder: str) -> None:
    """Let a folder be removed when this process ends."""
    prepare()
    if os.path.isabs(folder) and "\n" not in folder:  # noqa: PTH117 - no pathlib for it
        _tell(">", folder)


def _tell(sign: str, what: int | str) -> None:
    if _Guardian.pipe is not None:
        with suppress(OSError):  # the shell was ended
            os.write(_Guardian.pipe, f"{sign} ".encode() + os.fsencode(f"{what}\n"))


def _start() -> None:
    theirs, ours = os.pipe()
    _Guardian.mark = f"{os.getpid()}-{os.urandom(8).hex()}"
    environ = {name: text for name, text in os.environ.items() if name != _VARIABLE}  # of a gpuenv above
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    try:
        _Guardian.process = os.posix_spawn(
            _SHELL,
            ("sh", "-c", _SCRIPT, "sh", f"{_VARIABLE}={_Guardian.mark}"),
            environ,
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
    """End the shell and wait for it: nothing outlives a run."""
    process, pipe = _Guardian.process, _Guardian.pipe
    _tell(".", "")
    _Guardian.process = _Guardian.pipe = None
    if pipe is not None:
        os.close(pipe)
    if process is not None and os.getpid() == owner:
        with suppress(ChildProcessError):
            os.waitpid(process, 0)
