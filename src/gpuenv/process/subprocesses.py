"""Run programs: by absolute paths, in an empty folder, never through a shell.

The current folder may be a stranger's: only the user's own command (`run_foreground`) runs there. Passwords
of indexes never appear in arguments, which every user of a machine can read.
"""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from gpuenv.files.private import append_private
from gpuenv.files.temporary import fallback_tmpdir
from gpuenv.process import guardian, interruption
from gpuenv.process.children import end_child, has_ended, signal_group, start_child, wait_for
from gpuenv.process.output import PipeReader, Redacting, TruncatedText, feed
from gpuenv.secrets.url_credentials import redact_bytes, redact_credentials
from gpuenv.tracing.drawing import draws

LARGEST = 32 << 20  # bytes of what a process prints that are kept: the beginning and the end
_INTERRUPTED_S = 2.0  # micromamba finishes the download it is at before it heeds Ctrl-C


class Completed(Struct, frozen=True):
    """The result of a process; `returncode` is None, and `error` set, if it could not be started."""

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
    limit: int | None = None,
) -> Completed:
    """Run `argv` quietly and return what it printed, whatever it did; bytes that are no UTF-8 are replaced.

    It starts in `cwd`, or in an empty folder; relative paths in variables are made absolute. The child and
    its children are ended when it exits, when the time limit runs out, and on Ctrl-C. `limit` is how many
    bytes of each stream are kept.
    """
    environ = os.environ if environ is None else environ
    if folder := fallback_tmpdir():
        environ = {**environ, "TMPDIR": folder}
    given = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    with interruption.held():
        try:
            child = start_child(argv, environ, cwd, given, subprocess.PIPE, subprocess.PIPE)
        except OSError as error:
            return Completed(None, "", "", error=str(error))
        if child.stdin is not None:
            feed(child.stdin, (stdin or "").encode())
        printed = _Printed(child, limit)
        try:
            in_time = wait_for(child, printed.readers, timeout_s)
        finally:
            end_child(child, printed.readers)
    return printed.completed(timed_out=not in_time)


class _Printed:
    """What a child prints to its two pipes."""

    def __init__(self, child: subprocess.Popen[bytes], limit: int | None) -> None:
        assert child.stdout is not None  # noqa: S101 - pipes were asked for
        assert child.stderr is not None  # noqa: S101
        self._child = child
        self.kept = TruncatedText(limit or LARGEST), TruncatedText(limit or LARGEST)
        self.readers = (
            PipeReader(child.stdout, self.kept[0].take),
            PipeReader(child.stderr, self.kept[1].take),
        )

    def completed(self, *, timed_out: bool = False) -> Completed:
        stdout, stderr = (_decode(kept.all()) for kept in self.kept)
        return Completed(self._child.returncode, stdout, stderr, timed_out=timed_out)


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

    On a terminal the child gets a pseudo-terminal, so that its progress bars work. Ctrl-C ends the child and
    its children before it is raised. On POSIX the child inherits the descriptors in `keep_open`, and with
    them the locks they hold.
    """
    with interruption.held(), _own_temporary(environ) as given, append_private(log) as sink:
        sink.write(_shown(argv))
        sink.flush()
        start = sink.tell()
        try:
            child, shown = _start_shown(argv, given, cwd, keep_open, on_terminal=show and draws())
        except OSError as error:
            return Completed(None, "", "", error=str(error))
        kept = TruncatedText(LARGEST, lambda block: (sink.write(block), sink.flush()))
        echo = _echo() if show else lambda _: None
        redacting = Redacting()

        def take(block: bytes) -> None:
            kept.take(block)
            echo(block)

        reader = PipeReader(shown, lambda block: take(redacting.take(block)))
        try:
            wait_for(child, (reader,))
        finally:
            end_child(child, (reader,))
            take(redacting.rest())
        sink.write(kept.rest())
    with log.open("rb") as written:
        written.seek(start)
        return Completed(child.returncode, _decode(written.read(2 * LARGEST)), "")


def attend(
    argv: Sequence[str],
    *,
    log: Path,
    environ: Mapping[str, str] | None = None,
    tick: Callable[[], None] = lambda: None,
    every_s: float = 0.5,
    keep_open: tuple[int, ...] = (),
) -> Completed:
    """Run a long `argv` quietly, call `tick` every `every_s` seconds, and append its output to `log`."""
    with interruption.held(), _own_temporary(environ) as given:
        try:
            child = start_child(
                argv, given, None, subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE, keep_open
            )
        except OSError as error:
            return Completed(None, "", "", error=str(error))
        printed = _Printed(child, None)
        try:
            while not wait_for(child, printed.readers, every_s):
                tick()
        except BaseException:
            _interrupt(child, printed.readers)
            raise
        finally:
            end_child(child, printed.readers)
            with append_private(log) as sink:
                sink.write(_shown(argv))
                sink.writelines(redact_bytes(kept.all()) for kept in printed.kept)
    return printed.completed()


@contextmanager
def _own_temporary(environ: Mapping[str, str] | None) -> Iterator[Mapping[str, str]]:
    """Return variables with a TMPDIR that is removed afterwards: pip, when ended, leaves its own behind."""
    given = os.environ if environ is None else environ
    with ExitStack() as stack:
        if os.name == "posix":
            with suppress(OSError):  # what can't be written is the installer's to tell
                given = {**given, "TMPDIR": stack.enter_context(guardian.temporary_folder("gpuenv-"))}
        yield given


class BackgroundProcess(Struct, frozen=True):
    """A process in the background; its input and output are files."""

    _child: subprocess.Popen[bytes]

    def ended(self) -> int | None:
        """Return its exit status, None while it runs."""
        if not has_ended(self._child):
            return None
        guardian.forget(self._child.pid)
        return self._child.poll()

    def end(self) -> None:
        """End it and its children."""
        with interruption.held():
            end_child(self._child)


def start_background(
    argv: Sequence[str], *, stdin: Path, stdout: Path, stderr: Path, environ: Mapping[str, str]
) -> BackgroundProcess:
    """Start `argv` and return at once; raises OSError when it can't be started."""
    with stdin.open("rb") as given, stdout.open("wb") as out, stderr.open("wb") as err:
        return BackgroundProcess(start_child(argv, environ, None, given.fileno(), out.fileno(), err.fileno()))


def _interrupt(child: subprocess.Popen[bytes], readers: Sequence[PipeReader]) -> None:
    """Pass Ctrl-C on, and wait a while; on Windows the console has passed it on already."""
    if os.name == "posix":
        signal_group(child, signal.SIGINT)
    wait_for(child, readers, _INTERRUPTED_S)


def _shown(argv: Sequence[str]) -> bytes:
    return f"$ {redact_credentials(' '.join(argv))}\n".encode(errors="surrogateescape")


def _start_shown(
    argv: Sequence[str],
    environ: Mapping[str, str] | None,
    cwd: Path | None,
    keep_open: tuple[int, ...],
    *,
    on_terminal: bool,
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start `argv`; return it with what reads all that it prints, through a pipe or as a terminal does."""
    if on_terminal and os.name == "posix":
        return _start_on_terminal(argv, environ, cwd, keep_open)
    child = start_child(argv, environ, cwd, subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT, keep_open)
    assert child.stdout is not None  # noqa: S101 - it was asked for
    return child, child.stdout


def _start_on_terminal(
    argv: Sequence[str], environ: Mapping[str, str] | None, cwd: Path | None, keep_open: tuple[int, ...]
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    import fcntl  # noqa: PLC0415 - these exist on POSIX only
    import pty  # noqa: PLC0415
    import termios  # noqa: PLC0415

    ours, theirs = pty.openpty()
    try:
        size = fcntl.ioctl(sys.stderr.fileno(), termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        child = start_child(argv, environ, cwd, subprocess.DEVNULL, theirs, theirs, keep_open)
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return child, os.fdopen(ours, "rb", buffering=0)


def _echo() -> Callable[[bytes], None]:
    """Return a function that prints blocks on stderr; a character may be split between two of them."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def write(block: bytes) -> None:
        with suppress(BrokenPipeError):  # the installer goes on without a reader
            sys.stderr.write(decoder.decode(block))
            sys.stderr.flush()

    return write


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
