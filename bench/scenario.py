"""A measure and what it is held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from timing import Contestant, Series


@dataclass(frozen=True)
class Figures:
    """What was measured: gpuenv's series, the other's where there is one, and earlier rows by name."""

    ours: Series
    other: Series | None
    earlier: Mapping[str, Series]

    @property
    def against(self) -> Series:
        """The other's series; of a scenario that has one."""
        if self.other is None:
            raise TypeError("a goal against nobody")
        return self.other


@dataclass(frozen=True)
class Goal:
    """What a measure is held to, in words, and whether figures meet it."""

    words: str
    met: Callable[[Figures], bool]


@dataclass(frozen=True)
class Scenario:
    """gpuenv, and whom it is compared with; answers come after `latency_s`, `heavy` wheels of torch are."""

    name: str
    ours: Contestant
    other: Contestant | None
    goals: tuple[Goal, ...]
    latency_s: float = 0.0
    torch: str = "tiny"  # or "heavy", or "scattered": of as many files as the real one
    further: tuple[Contestant, ...] = ()  # who runs beside them, held to nothing
    most_rounds: int | None = None

    @property
    def contestants(self) -> tuple[Contestant, ...]:
        """Who runs, gpuenv first."""
        return (self.ours, *((self.other,) if self.other else ()), *self.further)


def cpu_below(limit_ms: float) -> Goal:
    """At most so much CPU time."""
    return Goal(f"CPU ≤ {limit_ms:.0f} ms", lambda it: it.ours.cpu_ms <= limit_ms)


def cpu_over(limit_ms: float) -> Goal:
    """At most so much more CPU time than the other."""
    return Goal(f"CPU +{limit_ms:.0f} ms", lambda it: it.ours.cpu_ms - it.against.cpu_ms <= limit_ms)


def wall_over(limit_ms: float) -> Goal:
    """At most so much longer than the other."""
    return Goal(f"+{limit_ms:.0f} ms", lambda it: it.ours.wall_ms - it.against.wall_ms <= limit_ms)


def requests(most: int) -> Goal:
    """At most so many requests."""
    return Goal(f"≤ {most} requests", lambda it: it.ours.most_requests <= most)


def memory(most_mb: float) -> Goal:
    """At most so much memory."""
    return Goal(f"≤ {most_mb:.0f} MB", lambda it: it.ours.peak_mb <= most_mb)


def grows(earlier: str, factor: float) -> Goal:
    """At most so many times the CPU time of an earlier row."""
    return Goal(
        f"≤ {factor:g} × {earlier}",
        lambda it: earlier not in it.earlier or it.ours.cpu_ms <= factor * it.earlier[earlier].cpu_ms,
    )


FASTER = Goal("faster", lambda it: it.ours.wall_ms < it.against.wall_ms)
