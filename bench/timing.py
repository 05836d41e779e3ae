"""Time programs side by side: A B A B, so that what slows the machine slows all of them."""

from __future__ import annotations

import statistics
import subprocess
import time
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


@dataclass(frozen=True)
class Series:
    """What the runs of one contestant took (seconds), and how many requests each made."""

    name: str
    seconds: tuple[float, ...]
    requests: tuple[int, ...]

    @property
    def median_ms(self) -> float:
        """The median, in milliseconds."""
        return statistics.median(self.seconds) * 1000

    @property
    def spread_ms(self) -> tuple[float, float]:
        """The fastest and the slowest run, in milliseconds."""
        return min(self.seconds) * 1000, max(self.seconds) * 1000

    @property
    def most_requests(self) -> int:
        """The most requests that one run made."""
        return max(self.requests)


def time_side_by_side(
    contestants: tuple[Contestant, ...], rounds: int, requested: list[str], forget: Callable[[], None]
) -> tuple[Series, ...]:
    """Run all contestants in turn, `rounds` times after one round that does not count."""
    took: list[list[float]] = [[] for _ in contestants]
    requests: list[list[int]] = [[] for _ in contestants]
    for number in range(rounds + 1):
        for position, contestant in enumerate(contestants):
            contestant.prepare()
            forget()
            seconds = _run(contestant)
            if number:
                took[position].append(seconds)
                requests[position].append(len(requested))
    return tuple(
        Series(contestant.name, tuple(took[offset]), tuple(requests[offset]))
        for offset, contestant in enumerate(contestants)
    )


def _run(contestant: Contestant) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        contestant.argv,
        input=contestant.stdin,
        env=dict(contestant.environ),
        cwd=contestant.cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{contestant.name} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return seconds
