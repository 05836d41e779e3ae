"""Jobs of Slurm side by side, each with its own srun: one that fails stops no other."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from gpuenv.files.private import write_private
from gpuenv.fleet.engines.slurm_text import JOB_FORMAT, last_words, parse_jobs
from gpuenv.fleet.run_model import HostResult, OnHost
from gpuenv.i18n.messages import tr
from gpuenv.process.subprocesses import BackgroundProcess, run, start_background
from gpuenv.untrusted.documents import load_json

_TURN_S = 0.1
_QUEUE_S = 3.0  # between two looks at the queue, which the controller of a large cluster has to answer
_FIRST_QUEUE_S = 1.0
_ASK_S = 20.0
_CANCEL_S = 2.0
_GRACE_S = 45.0  # Slurm's own is 30 s (KillWait), in which what is half-made is undone
_LARGEST = 1 << 26  # bytes of what one host prints
_KEPT = 1 << 16
_PENDING = "PENDING"
_NO_REASON = ("", "None", "(null)")


class Job(Struct, frozen=True):
    """One host's: the command, and what it reads."""

    host: str
    argv: tuple[str, ...]
    stdin: str


class _Running(Struct):
    process: BackgroundProcess
    folder: Path
    reported: HostResult


class Jobs(Struct):
    """Runs jobs that are all called `name`, `forks` at a time, with files in `folder`, which is ours."""

    name: str
    folder: Path
    forks: int
    environ: Mapping[str, str]
    on_host: OnHost
    results: dict[str, HostResult] = field(default_factory=dict)
    _running: dict[str, _Running] = field(default_factory=dict)

    def run(self, jobs: Sequence[Job]) -> dict[str, HostResult]:
        """Run all to their ends; on Ctrl-C, and what `on_host` raises, they are cancelled first."""
        waiting = list(reversed(jobs))
        look_at = time.monotonic() + _FIRST_QUEUE_S
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self.forks:
                    self._begin(waiting.pop())
                self._reap()
                if self._running and time.monotonic() >= look_at:
                    self._look()
                    look_at = time.monotonic() + _QUEUE_S
                time.sleep(_TURN_S if self._running else 0)
        except BaseException:
            self._cancel()
            raise
        return self.results

    def _begin(self, job: Job) -> None:
        folder = self.folder / f"{len(self.results) + len(self._running)}-{job.host}"
        folder.mkdir()
        write_private(folder / "in", job.stdin)
        self.on_host(HostResult(job.host, "waiting"))
        files = {
            name: folder / path for name, path in (("stdin", "in"), ("stdout", "out"), ("stderr", "err"))
        }
        try:
            process = start_background(job.argv, environ=self.environ, **files)
        except OSError as error:
            self._end(HostResult(job.host, "failed", message=str(error)))
        else:
            self._running[job.host] = _Running(process, folder, HostResult(job.host, "waiting"))

    def _reap(self) -> None:
        for host, running in list(self._running.items()):
            if (running.folder / "out").stat().st_size > _LARGEST:
                running.process.end()
            status = running.process.ended()
            if status is not None:
                del self._running[host]
                self._end(_result(host, status, running.folder))

    def _end(self, result: HostResult) -> None:
        self.results[result.host] = result
        self.on_host(result)

    def _look(self) -> None:
        """Report whose job waits, and for what; where the queue cannot be read, nothing changes."""
        argv = ("squeue", "--noheader", f"--name={self.name}", f"--format={JOB_FORMAT}")
        queue = parse_jobs(run(argv, timeout_s=_ASK_S, environ=self.environ).stdout)
        for host, running in self._running.items():
            now = _in_queue(host, *queue[host]) if host in queue else running.reported
            if now != running.reported:
                running.reported = now
                self.on_host(now)

    def _cancel(self) -> None:
        """Cancel what still runs: by Slurm first, so that the program on the node can undo what it began.

        It is repeated: an srun that had only started may not have had its job yet.
        """
        until = time.monotonic() + _GRACE_S
        argv = ("scancel", "--quiet", f"--name={self.name}")
        try:
            run(argv, timeout_s=_ASK_S, environ=self.environ)
            again = time.monotonic() + _CANCEL_S
            while self._still() and time.monotonic() < until:
                if time.monotonic() > again:
                    run(argv, timeout_s=_ASK_S, environ=self.environ)
                    again = time.monotonic() + _CANCEL_S
                time.sleep(_TURN_S)
        finally:
            for running in self._still():
                running.process.end()

    def _still(self) -> list[_Running]:
        return [running for running in self._running.values() if running.process.ended() is None]


def _in_queue(host: str, state: str, reason: str) -> HostResult:
    if state != _PENDING:
        return HostResult(host, "running")
    words = "" if reason in _NO_REASON else tr("queued by Slurm: {reason}", reason=reason)
    return HostResult(host, "waiting", message=words)


def _result(host: str, status: int, folder: Path) -> HostResult:
    answer = _answer(folder / "out")
    if answer is not None:
        return HostResult(host, "done", answer)
    words = last_words(_tail(folder / "err")) or last_words(_tail(folder / "out"))
    message = tr("srun failed (status {status}): {words}", status=status, words=words or "-")
    return HostResult(host, "failed", message=message)


def _answer(path: Path) -> dict[str, Any] | None:
    """Return the object in the last line of what was printed."""
    if path.stat().st_size > _LARGEST:
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines() or [""]
    answer: Any = None
    with suppress(ValueError, RecursionError):
        answer = load_json(lines[-1])
    return answer if isinstance(answer, dict) else None


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _KEPT, 0))
        return file.read().decode("utf-8", errors="replace")
