"""Run programs: always from a list, never through a shell, with all their children ended in time."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, NamedTuple

_GRACE_S = 5.0
_MOST_TOLD = 1 << 18  # letters
# they would send a foreign Python, or an installer, elsewhere
MISLEADING = (
    "PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER",
    "PIP_DRY_RUN", "PIP_NO_DEPS", "PIP_PYTHON", "PIP_REQUIRE_VIRTUALENV", "UV_TORCH_BACKEND",
    "UV_SYSTEM_PYTHON", "UV_VENV_CLEAR",
)  # fmt: skip


class Ended(NamedTuple):
    """What a program left: `returncode` is None where it could not be started, `error` then says why."""

    returncode: int | None
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.returncode == 0 and not self.timed_out

    def as_facts(self) -> dict[str, Any]:
        """Return it as it is sent to gpuenv, its output cut to a reasonable length."""
        return dict(self._asdict(), stdout=self.stdout[:_MOST_TOLD], stderr=self.stderr[:_MOST_TOLD])


def without_misleading(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that mislead."""
    return {name: value for name, value in environ.items() if name not in MISLEADING}


def absolute_path(environ: Mapping[str, str]) -> str:
    """Return PATH without its relative entries: what they mean depends on where one stands."""
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def run(argv: Sequence[str], timeout_s: float, environ: Mapping[str, str], cwd: str | None = None) -> Ended:
    """Run quietly and return what was printed; the program is ended when the limit (seconds) runs out."""
    try:
        child = _start(argv, environ, subprocess.PIPE, subprocess.PIPE, (), cwd)
    except (OSError, ValueError) as error:
        return Ended(None, error=str(error))
    try:
        stdout, stderr = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        stdout, stderr = _end(child)
        return Ended(child.returncode, _text(stdout), _text(stderr), timed_out=True)
    except BaseException:
        _end(child)
        raise
    return Ended(child.returncode, _text(stdout), _text(stderr))


def run_logged(
    argv: Sequence[str], log: str, environ: Mapping[str, str], keep_open: tuple[int, ...]
) -> Ended:
    """Run an installer, which appends all it prints to `log` and inherits the descriptors in `keep_open`."""
    with open(log, "ab", opener=closed) as sink:
        start = sink.tell()
        try:
            child = _start(argv, environ, sink, subprocess.STDOUT, keep_open, None)
        except (OSError, ValueError) as error:
            return Ended(None, error=str(error))
        try:
            child.wait()
        except BaseException:
            _end(child)
            raise
    with open(log, "rb") as written:
        written.seek(start)
        return Ended(child.returncode, _text(written.read()))


def closed(path: str, flags: int) -> int:
    """Open a file that only its user may read where it is a new one: indexes may have passwords."""
    return os.open(path, flags, 0o600)


def _start(
    argv: Sequence[str],
    environ: Mapping[str, str],
    stdout: int | IO[bytes],
    stderr: int,
    keep_open: tuple[int, ...],
    cwd: str | None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=dict(environ, PATH=absolute_path(environ)),
        cwd=cwd or "/",  # never where a job happens to start: that may be a stranger's folder
        start_new_session=True,  # so that its children end with it
        pass_fds=keep_open,
    )


def _end(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """End a program and its children: politely first, so that an installer can clean up after itself."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(OSError):
            os.killpg(child.pid, number)
        with suppress(subprocess.TimeoutExpired):
            stdout, stderr = child.communicate(timeout=_GRACE_S)
            return stdout or b"", stderr or b""
    return b"", b""  # in uninterruptible sleep (a dead GPU): left behind


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
