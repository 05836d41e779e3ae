"""Child processes: starting, waiting, and ending them with their own children."""

from __future__ import annotations

import atexit
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gpuenv.files import cache_lock
from gpuenv.process import guardian, interruption
from gpuenv.process.output import PipeReader, drain
from gpuenv.process.surroundings import absolute_variables, empty_folder, private_folder, program_path
from gpuenv.secrets.url_credentials import has_userinfo, redact_credentials
from gpuenv.tracing.steps import step

_GRACE_S = 5.0
_LOOK_S = 0.05  # poll interval for a process that does not close its pipes


def start_child(
    argv: Sequence[str],
    environ: Mapping[str, str] | None,
    cwd: Path | None,
    stdin: int,
    stdout: int,
    stderr: int,
    keep_open: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start `argv` in `cwd`, else in an empty folder; raises OSError when it can't be started."""
    given = os.environ if environ is None else environ
    if any(map(has_userinfo, argv)):
        argv, given = _concealed(argv, given)
    step(lambda: redact_credentials(f"$ {shlex.join(argv)}"))
    folder = str(cwd or empty_folder())
    guardian.prepare()
    child = subprocess.Popen(
        [program_path(argv[0], given), *argv[1:]],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env={**absolute_variables(given), **guardian.marked(), "PWD": folder},
        cwd=folder,
        bufsize=0,
        start_new_session=os.name == "posix",  # so that its children end with it
        pass_fds=(*keep_open, *cache_lock.descriptors()) if keep_open and os.name == "posix" else (),
    )
    guardian.watch(child.pid)
    return child


def _concealed(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Hand over what is secret in the arguments of uv and pip by variables and a private file."""
    from gpuenv.secrets.conceal_arguments import conceal  # noqa: PLC0415 - only where there is a password

    hidden = conceal(tuple(argv), environ)
    more = ("-r", _write_requirements(hidden.requirements)) if hidden.requirements else ()
    return (*hidden.argv, *more), {**environ, **dict(hidden.variables)}


def _write_requirements(lines: tuple[str, ...]) -> str:
    """Write a file of mode 0600 that is removed when gpuenv ends; return its path."""
    import tempfile  # noqa: PLC0415

    descriptor, path = tempfile.mkstemp(suffix=".txt", dir=private_folder("private"))
    atexit.register(_remove, path)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - pathlib may be gone at exit


def wait_for(
    child: subprocess.Popen[bytes], readers: Sequence[PipeReader], timeout_s: float | None = None
) -> bool:
    """Wait until the child has ended, whoever holds its pipes; tell whether it has within the seconds."""
    until = None if timeout_s is None else time.monotonic() + timeout_s
    pause = 0.0005
    while not has_ended(child):
        interruption.heed()
        left = _LOOK_S if until is None else until - time.monotonic()
        if left <= 0:
            return False
        if not _join_busy(readers, min(left, _LOOK_S)):
            time.sleep(min(left, pause))
            pause = min(2 * pause, _LOOK_S)
        for reader in readers:
            if reader.error is not None:
                raise reader.error
    return True


def _join_busy(readers: Sequence[PipeReader], limit_s: float) -> bool:
    """Wait for the first pipe that is still read; tell whether there is one."""
    busy = next((reader for reader in readers if reader.is_busy()), None)
    if busy is not None:
        busy.join(limit_s)
    return busy is not None


def has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Tell whether the child has ended; on POSIX its process id stays reserved until `end_child`."""
    if child.returncode is not None:
        return True
    if not _KEEPS_NUMBER:
        return child.poll() is not None
    try:
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # somebody has waited for all children
        return child.poll() is not None


_KEEPS_NUMBER = hasattr(os, "waitid")


def end_child(child: subprocess.Popen[bytes], readers: Sequence[PipeReader] = ()) -> None:
    """End the child and its children, by SIGTERM first, and read its output to the end."""
    try:
        if not has_ended(child):
            signal_group(child, signal.SIGTERM)
            _give_time(child, readers)
        if has_ended(child):
            drain(readers)
        _kill_group(child)
        _give_time(child, readers)  # but for one in uninterruptible sleep (a dead GPU), which is left behind
        drain(readers)
    finally:
        for reader in readers:
            reader.stop()
        _kill_group(child)
        guardian.forget(child.pid)
        child.poll()


def _give_time(child: subprocess.Popen[bytes], readers: Sequence[PipeReader]) -> None:
    until = time.monotonic() + _GRACE_S
    while not has_ended(child) and time.monotonic() < until:
        if interruption.is_pending():
            return
        if not _join_busy(readers, 0.01):
            time.sleep(0.01)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and its children, while its number is surely its own."""
    if child.returncode is None:
        signal_group(child, getattr(signal, "SIGKILL", signal.SIGTERM))


def signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to the child and its children; on Windows end it."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(child.pid, number)
        else:
            child.terminate()
