"""What `gpuenv fleet` shows while machines are at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from gpuenv.cli.console import Console
from gpuenv.cli.progress import Display, display
from gpuenv.fleet.render.run import host_name, state_of, verified_in_words
from gpuenv.fleet.run import FleetWatcher
from gpuenv.fleet.run_model import Action, HostOutcome
from gpuenv.i18n.messages import N_, tr

_ACTIONS: dict[Action, str] = {
    "detect": N_("detecting the machines ({count})"),
    "create": N_("creating the environment ({count})"),
    "verify": N_("verifying ({count})"),
}
_LONGEST = 160  # characters of a line
_MOST_NAMED = 4


@contextmanager
def watching(console: Console) -> Iterator[FleetWatcher]:
    """Follow the machines: a bar and lines above it on a terminal, lines elsewhere, nothing if quiet."""
    with display(quiet=not console.shows_installers) as shown:
        yield _Watcher(shown)


class _Watcher(Struct):
    """A bar of the machines that are done, the names of those at work, and a line for each that ended."""

    shown: Display
    left: int = 0
    working: dict[str, None] = field(default_factory=dict)

    def begin(self, action: Action, hosts: int) -> None:
        """Show the action that begins."""
        self.shown.end()
        self.working.clear()
        self.left = hosts
        text = tr(_ACTIONS[action], count=hosts)
        self.shown.line(text)
        self.shown.draw("count", text, hosts)

    def waiting(self, host: str, why: str) -> None:
        """Show what a machine waits for."""
        if why:
            self.shown.tell(tr("{host}: waiting: {why}", host=host_name(host), why=why))

    def running(self, host: str) -> None:
        """Name a machine that is at work."""
        self.working[host_name(host)] = None
        self._draw(0)

    def ended(self, outcome: HostOutcome) -> None:
        """Show the outcome of a machine; remove the bar after the last."""
        self.working.pop(host_name(outcome.host), None)
        self.left -= 1
        self._draw(1)
        self.shown.tell(_line(outcome))
        if self.left == 0:
            self.shown.end()

    def _draw(self, advance: int) -> None:
        self.shown.move(advance, beside=", ".join(list(self.working)[:_MOST_NAMED]))


def _line(outcome: HostOutcome) -> str:
    words = verified_in_words(outcome) or state_of(outcome)
    text = ": ".join(part for part in (host_name(outcome.host), words, outcome.problem) if part)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
