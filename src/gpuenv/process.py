"""The one module that starts processes: by absolute paths, in an empty folder, never through a shell.

The folder that gpuenv is started in may be a stranger's: only the user's own command (`hand_over`) runs
there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from gpuenv.surroundings import anchored, empty_folder, program_path
from gpuenv.values.userinfo import redact

_GRACE_S = 5.0
_INTERRUPTED_S = 2.0  # micromamba finishes the download it is at before it heeds Ctrl-C


@dataclass(frozen=True, slots=True)
class Completed:
    """What a process left: `returncode` is None when the program was not found or could not be started.

    `timed_out` tells that it was ended because its time limit ran out; `error` why it could not be started.
    """

    returncode: int | None
    stdout: str
    stderr: str
    timed_out: bool = False
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.returncode == 0 and not self.timed_out


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    environ: Mapping[str, str] | None = None,
    stdin: str | None = None,
    cwd: Path | None = None,
) -> Completed:
    """Run `argv` quietly and return what it printed, whatever it did; bytes that are no UTF-8 are replaced.

    It starts in `cwd`, left out: in an empty folder. Relative paths in variables are made absolute before.
    The child and all its children are ended when the time limit (seconds) runs out or on Ctrl-C.
    """
    given = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    try:
        child = _start(argv, environ, cwd, given, subprocess.PIPE, subprocess.PIPE)
    except OSError as error:
        return Completed(None, "", "", error=str(error))
    try:
        stdout, stderr = child.communicate(stdin.encode() if stdin is not None else None, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        stdout, stderr = _end(child)
        return Completed(child.returncode, _decode(stdout), _decode(stderr), timed_out=True)
    except BaseException:
        _end(child)
        raise
    return Completed(child.returncode, _decode(stdout), _decode(stderr))


def stream(
    argv: Sequence[str],
    *,
    log: Path,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    show: bool = True,
    keep_open: tuple[int, ...] = (),
) -> Completed:
    """Run a long `argv`, append all it prints to `log`, and pass it on to stderr when `show` is true.

    On a terminal the child draws its own progress: it is given the terminal (through a pseudo-terminal where
    the system has one), so that bars stay bars. Ctrl-C ends the child and its children before it is raised.
    On POSIX the child inherits the descriptors in `keep_open`, and with them the locks they hold.
    """
    with log.open("ab") as sink:
        sink.write(_shown(argv))
        sink.flush()
        start = sink.tell()
        if show and sys.stderr.isatty() and os.name == "posix":
            returncode, error = _stream_through_terminal(argv, environ, cwd, sink, keep_open)
        else:
            returncode, error = _stream_through_pipe(argv, environ, cwd, sink, keep_open, show=show)
    with log.open("rb") as written:
        written.seek(start)
        return Completed(returncode, _decode(written.read()), "", error=error)


def attend(
    argv: Sequence[str],
    *,
    log: Path,
    environ: Mapping[str, str] | None = None,
    tick: Callable[[], None] = lambda: None,
    every_s: float = 0.5,
    keep_open: tuple[int, ...] = (),
) -> Completed:
    """Run a long `argv` that prints for programs, and call `tick` every so many seconds meanwhile.

    What it printed is appended to `log` when it ends, however it ends. Ctrl-C is passed on to the child and
    its children, as installers clean up after it; those that go on are ended before it is raised. On POSIX
    the child inherits the descriptors in `keep_open`, and with them the locks they hold.
    """
    try:
        child = _start(argv, environ, None, subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE, keep_open)
    except OSError as error:
        return Completed(None, "", "", error=str(error))
    stdout, stderr = b"", b""
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                stdout, stderr = child.communicate(timeout=every_s)
                return Completed(child.returncode, _decode(stdout), _decode(stderr))
            tick()
    except BaseException:
        stdout, stderr = _interrupt(child)
        raise
    finally:
        _note(log, argv, stdout, stderr)


@dataclass(frozen=True, slots=True)
class Aside:
    """A process that runs beside others; what it reads and prints are files."""

    _child: subprocess.Popen[bytes]

    def ended(self) -> int | None:
        """Return its exit status, None while it runs."""
        return self._child.poll()

    def end(self) -> None:
        """End it and its children."""
        _end(self._child)


def start_aside(
    argv: Sequence[str], *, stdin: Path, stdout: Path, stderr: Path, environ: Mapping[str, str]
) -> Aside:
    """Start `argv` and return at once; raises OSError when it can't be started."""
    with stdin.open("rb") as given, stdout.open("wb") as out, stderr.open("wb") as err:
        return Aside(_start(argv, environ, None, given.fileno(), out.fileno(), err.fileno()))


def _interrupt(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Pass Ctrl-C on, then end the child; on Windows the console has passed it on already."""
    try:
        if os.name == "posix":
            _signal_group(child, signal.SIGINT)
        return child.communicate(timeout=_INTERRUPTED_S)
    except subprocess.TimeoutExpired:
        return _end(child)
    except BaseException:  # a second Ctrl-C
        _end(child)
        raise


def _note(log: Path, argv: Sequence[str], *printed: bytes) -> None:
    with log.open("ab") as sink:
        sink.write(_shown(argv))
        sink.writelines(printed)


def _shown(argv: Sequence[str]) -> bytes:
    shown = redact(" ".join(argv))
    return f"$ {shown}\n".encode(errors="surrogateescape")


def hand_over(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run `argv` in the foreground with our own stdin, stdout and stderr; return its exit code.

    Ctrl-C is the child's business; SIGTERM and SIGHUP are passed on. A child ended by signal N returns 128+N,
    as in a shell. Raises OSError when it can't be started.
    """
    # Windows would look for the program on our PATH, not on the one it is given.
    program = program_path(argv[0], environ)
    child = subprocess.Popen([program, *argv[1:]], env=dict(environ))
    previous = {number: signal.signal(number, _pass_to(child)) for number in _forwarded()}
    previous[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        returncode = child.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 128 - returncode if returncode < 0 else returncode


def _forwarded() -> tuple[signal.Signals, ...]:
    return (signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else (signal.SIGTERM,)


def _pass_to(child: subprocess.Popen[bytes]) -> Callable[[int, FrameType | None], None]:
    return lambda number, _frame: child.send_signal(number)


def _stream_through_pipe(
    argv: Sequence[str],
    environ: Mapping[str, str] | None,
    cwd: Path | None,
    sink: IO[bytes],
    keep_open: tuple[int, ...],
    *,
    show: bool,
) -> tuple[int | None, str | None]:
    try:
        child = _start(argv, environ, cwd, subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT, keep_open)
    except OSError as error:
        return None, str(error)
    assert child.stdout is not None  # noqa: S101 - a pipe was asked for
    try:
        for line in child.stdout:
            _pass_on(line, sink, show=show)
        return child.wait(), None
    except BaseException:
        _end(child)
        raise
    finally:
        child.stdout.close()


def _stream_through_terminal(
    argv: Sequence[str],
    environ: Mapping[str, str] | None,
    cwd: Path | None,
    sink: IO[bytes],
    keep_open: tuple[int, ...],
) -> tuple[int | None, str | None]:
    import fcntl  # noqa: PLC0415 - these exist on POSIX only
    import pty  # noqa: PLC0415
    import termios  # noqa: PLC0415

    ours, theirs = pty.openpty()
    try:
        size = fcntl.ioctl(sys.stderr.fileno(), termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        child = _start(argv, environ, cwd, subprocess.DEVNULL, theirs, theirs, keep_open)
    except OSError as error:
        os.close(ours)
        os.close(theirs)
        return None, str(error)
    os.close(theirs)
    try:
        while chunk := _read_terminal(ours):
            _pass_on(chunk, sink, show=True)
        return child.wait(), None
    except BaseException:
        _end(child)
        raise
    finally:
        os.close(ours)


def _read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux: EIO when the child has closed its end
        return b""


def _pass_on(data: bytes, sink: IO[bytes], *, show: bool) -> None:
    sink.write(data)
    sink.flush()
    if show:
        with suppress(BrokenPipeError):  # nobody looks any more; the installer goes on
            sys.stderr.write(_decode(data))
            sys.stderr.flush()


def _start(
    argv: Sequence[str],
    environ: Mapping[str, str] | None,
    cwd: Path | None,
    stdin: int,
    stdout: int,
    stderr: int,
    keep_open: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    given = os.environ if environ is None else environ
    folder = str(cwd or empty_folder())
    return subprocess.Popen(
        [program_path(argv[0], given), *argv[1:]],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env={**anchored(given), "PWD": folder},
        cwd=folder,
        start_new_session=os.name == "posix",  # so that its children end with it
        pass_fds=keep_open if os.name == "posix" else (),
    )


def _end(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """End the child and its children: politely first, so that an installer can clean up after itself."""
    _signal_group(child, signal.SIGTERM)
    try:
        stdout, stderr = child.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        _signal_group(child, getattr(signal, "SIGKILL", signal.SIGTERM))
        child.kill()
        try:
            stdout, stderr = child.communicate(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:  # in uninterruptible sleep (a dead GPU): leave it behind
            stdout, stderr = b"", b""
    return stdout or b"", stderr or b""


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    try:
        if os.name == "posix":
            os.killpg(child.pid, number)
        else:
            child.terminate()
    except (ProcessLookupError, PermissionError):
        pass


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
