"""What `gpuenv fleet` shows while machines are at work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuenv.cli.options import Common
from gpuenv.cli.output import note
from gpuenv.fleet.render.run import host_name, state_of, verified_in_words
from gpuenv.fleet.run import FleetWatcher
from gpuenv.fleet.run_model import Action, HostOutcome
from gpuenv.i18n.messages import marked, tr
from gpuenv.untrusted.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_ACTIONS: dict[Action, str] = {
    "detect": marked("asking the machines what they are ({count})"),
    "create": marked("making the environment ({count})"),
    "verify": marked("verifying ({count})"),
}
_LONGEST = 160  # characters of a line
_MOST_NAMED = 4


@contextmanager
def watching(common: Common) -> Iterator[FleetWatcher]:
    """Follow the machines: a bar and lines above it on a terminal, lines elsewhere, nothing if quiet."""
    if common.quiet or (common.as_json and not sys.stderr.isatty()):
        yield _Silent()
    elif not sys.stderr.isatty():
        yield _Lines()
    else:
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.end()


class _Silent:
    def begin(self, action: Action, hosts: int) -> None:
        """Hear nothing."""

    def waiting(self, host: str, why: str) -> None:
        """Hear nothing."""

    def running(self, host: str) -> None:
        """Hear nothing."""

    def ended(self, outcome: HostOutcome) -> None:
        """Hear nothing."""


class _Lines(_Silent):
    def begin(self, action: Action, hosts: int) -> None:
        """Say what begins."""
        note(tr(_ACTIONS[action], count=hosts))

    def waiting(self, host: str, why: str) -> None:
        """Say what a machine waits for."""
        if why:
            note(tr("{host}: waiting: {why}", host=host_name(host), why=why))

    def ended(self, outcome: HostOutcome) -> None:
        """Say what a machine came to."""
        note(_line(outcome))


def _line(outcome: HostOutcome) -> str:
    words = verified_in_words(outcome) or state_of(outcome)
    text = ": ".join(part for part in (host_name(outcome.host), words, outcome.problem) if part)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


class _Bar:
    """A bar of the machines that are done, the names of those at work, and a line for each that ended."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._left = 0
        self._working: dict[str, None] = {}

    def begin(self, action: Action, hosts: int) -> None:
        """Draw the bar."""
        from rich import progress as bars  # noqa: PLC0415 - only where it draws
        from rich.console import Console  # noqa: PLC0415

        columns = (
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeElapsedColumn(),
            bars.TextColumn("{task.fields[working]}", markup=False),
        )
        self.end()
        self._left = hosts
        self._progress = bars.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task(tr(_ACTIONS[action], count=hosts), total=hosts, working="")
        self._progress.start()

    def waiting(self, host: str, why: str) -> None:
        """Say what a machine waits for."""
        if self._progress is not None and why:
            text = tr("{host}: waiting: {why}", host=host_name(host), why=why)
            self._progress.console.print(printable(text), markup=False, highlight=False)

    def running(self, host: str) -> None:
        """Name a machine that is at work."""
        self._working[host_name(host)] = None
        self._draw(0)

    def ended(self, outcome: HostOutcome) -> None:
        """Move the bar; once all machines are done, take it away."""
        self._working.pop(host_name(outcome.host), None)
        self._left -= 1
        self._draw(1)
        if self._progress is not None:
            self._progress.console.print(printable(_line(outcome)), markup=False, highlight=False)
        if self._left == 0:
            self.end()

    def _draw(self, advance: int) -> None:
        if self._progress is not None and self._task is not None:
            names = ", ".join(list(self._working)[:_MOST_NAMED])
            self._progress.update(self._task, advance=advance, working=names)

    def end(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        self._working.clear()
