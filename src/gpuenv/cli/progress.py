"""Progress on stderr: bars on a terminal, lines elsewhere, nothing if quiet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from msgspec import Struct

from gpuenv.cli.color import is_coloured
from gpuenv.cli.output import note
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import ngettext, tr
from gpuenv.tracing.drawing import draws
from gpuenv.untrusted.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

ProgressKind = Literal["spinner", "bytes", "count"]


class Display:
    """The one way in which progress is shown."""

    def __init__(self, *, quiet: bool) -> None:
        self._draws = not quiet and draws()
        self._writes = not quiet and not self._draws
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    @property
    def drawn(self) -> bool:
        """Whether there are bars."""
        return self._progress is not None

    def line(self, text: str) -> None:
        """Write a line where no bars are drawn."""
        if self._writes:
            note(text)

    def tell(self, text: str) -> None:
        """Write a line, above the bars where such are drawn."""
        if self._progress is not None:
            self._progress.console.print(printable(text), markup=False, highlight=False)
        self.line(text)

    def draw(self, kind: ProgressKind, text: str, total: int | None = None) -> None:
        """Draw a bar or a spinner; what moves from now on is this one."""
        if self._draws:
            if self._progress is None:
                self._progress = _new_progress(kind)
                self._progress.start()
            self._task = self._progress.add_task(text, total=total, beside="")

    def move(self, advance: int | None = None, **changes: Any) -> None:
        """Move the bar, also backwards, or change its texts."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=advance, **changes)

    def end(self) -> None:
        """Remove the bars."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


@contextmanager
def display(*, quiet: bool) -> Iterator[Display]:
    """Show progress, and remove it at the end."""
    shown = Display(quiet=quiet)
    try:
        yield shown
    finally:
        shown.end()


def _new_progress(kind: ProgressKind) -> Progress:
    from rich import progress as rich  # noqa: PLC0415 - only where it draws
    from rich.console import Console  # noqa: PLC0415

    from gpuenv.cli.progress_columns import AmountsColumn  # noqa: PLC0415

    text = rich.TextColumn("{task.description}", markup=False)
    bar = rich.BarColumn()
    columns: dict[ProgressKind, tuple[rich.ProgressColumn, ...]] = {
        "spinner": (rich.SpinnerColumn(), text),
        "bytes": (
            text, bar, AmountsColumn(), rich.TransferSpeedColumn(), rich.TimeRemainingColumn(),
        ),
        "count": (
            text, bar, rich.MofNCompleteColumn(), rich.TimeElapsedColumn(),
            rich.TextColumn("{task.fields[beside]}", markup=False),
        ),
    }  # fmt: skip
    console = Console(stderr=True, no_color=not is_coloured(sys.stderr))
    return rich.Progress(*columns[kind], console=console, transient=True)


@contextmanager
def fetching(log: Path, *, quiet: bool) -> Iterator[Fetching]:
    """Follow downloads: with a bar on a terminal, a line a file elsewhere; and in the log."""
    from gpuenv.files.private import append_private  # noqa: PLC0415 - where files are fetched

    with display(quiet=quiet) as shown, TextIOWrapper(append_private(log), encoding="utf-8") as lines:
        yield Fetching(shown, lines)


class Fetching(Struct, frozen=True):
    """One bar for all bytes, with the latest file; a FetchWatcher."""

    shown: Display
    log: TextIO

    def begin(self, files: int, size: int | None) -> None:
        """Show how much there is to fetch."""
        count = ngettext("1 file", "{count} files", files)
        amount = tr("{size} to fetch", size=render_size(size)) if size else tr("size not known")
        self.shown.line(tr("fetching the torch stack: {count}, {amount}", count=count, amount=amount))
        self.shown.draw("bytes", tr("fetching {count} files", count=files), size)

    def file(self, filename: str, location: str) -> None:
        """Show the source of a file."""
        text = tr("fetching {file} from {place}", file=filename, place=location)
        self.log.write(text + "\n")
        self.shown.line(text)
        self.shown.move(description=tr("{file} from {place}", file=_short(filename), place=location))

    def received(self, count: int) -> None:
        """Move the bar."""
        self.shown.move(count)

    def tell(self, text: str) -> None:
        """Show and log a message."""
        self.log.write(text + "\n")
        self.shown.tell(text)


class HashBars(Struct, frozen=True):
    """A bar a file; a HashProgress."""

    shown: Display

    def file(self, filename: str, size: int | None) -> None:
        """Show a file that is fetched."""
        amount = render_size(size) if size else tr("size not known")
        self.shown.line(tr("fetching {file} for its hash ({size})", file=filename, size=amount))
        self.shown.draw("bytes", _short(filename), size)

    def received(self, count: int) -> None:
        """Move the bar."""
        self.shown.move(count)


def _short(filename: str) -> str:
    return "-".join(filename.split("-")[:2])


class Following:
    """What a conda tool is at: a bar of bytes while it fetches, one of packages or a spinner for the rest.

    Without a terminal each phase is a line.
    """

    def __init__(self, shown: Display, fetching_text: str) -> None:
        self._shown, self._fetching, self._phase = shown, fetching_text, ""

    def bytes(self, done: int, size: int) -> None:
        """Move the bar of bytes, from the first to the last of them."""
        if done >= size:  # other programs write below it
            self.end()
            return
        self._begin(self._fetching, "bytes", size)
        self._shown.move(completed=done)

    def phase(self, text: str, done: int = 0, total: int = 0) -> None:
        """Show another phase: packages of a number of them, or a spinner where that is 0."""
        self._begin(text, "count" if total else "spinner", total or None)
        self._shown.move(completed=done)

    def end(self) -> None:
        """Remove what is shown."""
        self._shown.end()
        self._phase = ""

    def _begin(self, text: str, kind: ProgressKind, total: int | None) -> None:
        if text == self._phase:
            return
        self._shown.end()
        self._phase = text
        self._shown.line(text)
        self._shown.draw(kind, text, total)


@contextmanager
def following(text: str, *, quiet: bool) -> Iterator[Following]:
    """Follow what a conda tool is at; `text` says that it fetches."""
    with display(quiet=quiet) as shown:
        yield Following(shown, text)
