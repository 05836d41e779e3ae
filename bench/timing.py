"""Time programs side by side: A B A B, so that what slows the machine slows all of them."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Contestant:
    """A program to time; `prepare` runs before every start and is not timed."""

    name: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path
    stdin: str = ""
    prepare: Callable[[], None] = lambda: None
    statuses: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Run:
    """What one run took: wall and CPU time (its children's too), and the memory of its largest process."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    requests: int


@dataclass(frozen=True)
class Series:
    """The runs of one contestant."""

    name: str
    runs: tuple[Run, ...]

    @property
    def wall_ms(self) -> float:
        """The median, in milliseconds."""
        return statistics.median(run.wall_s for run in self.runs) * 1000

    @property
    def cpu_ms(self) -> float:
        """The median, in milliseconds."""
        return statistics.median(run.cpu_s for run in self.runs) * 1000

    @property
    def peak_mb(self) -> float:
        """The most memory that one process of any run had, in megabytes."""
        return max(run.peak_mb for run in self.runs)

    @property
    def most_requests(self) -> int:
        """The most requests that one run made."""
        return max(run.requests for run in self.runs)


class Runner:
    """Runs contestants from a process of its own (runner.py); `stop` ends it."""

    def __init__(self, folder: Path) -> None:
        argv = (sys.executable, "-I", str(Path(__file__).with_name("runner.py")))
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._stdin = folder / "stdin"

    def run(self, contestant: Contestant, requested: list[str]) -> Run:
        """Run a contestant, whose requests go to `requested`; raise SystemExit where it fails."""
        self._stdin.write_text(contestant.stdin, encoding="utf-8")
        asked = {
            "argv": contestant.argv,
            "environ": dict(contestant.environ),
            "cwd": str(contestant.cwd),
            "stdin": str(self._stdin),
        }
        if self._process.stdin is None or self._process.stdout is None:
            raise TypeError("the runner has no pipes")
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if answer["status"] not in contestant.statuses:
            raise SystemExit(f"{contestant.name} ended with {answer['status']}:\n{answer['stderr']}")
        return Run(answer["wall_s"], answer["cpu_s"], answer["peak_mb"], len(requested))

    def stop(self) -> None:
        """Let the process end."""
        self._process.communicate()


def time_side_by_side(
    runner: Runner,
    contestants: tuple[Contestant, ...],
    rounds: int,
    requested: list[str],
    forget: Callable[[], None],
) -> tuple[Series, ...]:
    """Run all contestants in turn, `rounds` times after one round that does not count."""
    runs: list[list[Run]] = [[] for _ in contestants]
    for number in range(rounds + 1):
        for position, contestant in enumerate(contestants):
            contestant.prepare()
            forget()
            run = runner.run(contestant, requested)
            if number:
                runs[position].append(run)
    return tuple(Series(item.name, tuple(of)) for item, of in zip(contestants, runs, strict=True))
