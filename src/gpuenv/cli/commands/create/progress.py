"""What `gpuenv create` shows while it fetches wheels itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gpuenv.cli.options import Common
from gpuenv.cli.output import note
from gpuenv.files.closed import append_closed
from gpuenv.i18n.messages import tr
from gpuenv.model.amounts import render_size
from gpuenv.operations.fetch_stack import FetchWatcher
from gpuenv.untrusted.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextmanager
def fetching(common: Common, log: Path) -> Iterator[FetchWatcher]:
    """Follow what is fetched: with a bar on a terminal, a line a file elsewhere; log it in any case."""
    with _shown(common) as watcher, TextIOWrapper(append_closed(log), encoding="utf-8") as lines:
        yield _Logged(watcher, lines)


@contextmanager
def following(common: Common) -> Iterator[Callable[[int, int], None]]:
    """Follow what another program downloads: a bar on a terminal, nothing elsewhere."""
    if common.quiet or not sys.stderr.isatty():
        yield lambda _, __: None
        return
    download = _Download()
    try:
        yield download.show
    finally:
        download.end()


class _Download:
    """A bar that appears with the first bytes, as there may be nothing to fetch."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def show(self, received: int, size: int) -> None:
        """Move the bar; take it away once all is there, before other programs write below it."""
        if received >= size:
            self.end()
            return
        if self._progress is None:
            self._progress = new_bar()
            self._progress.start()
            self._task = self._progress.add_task(tr("fetching packages"), total=size)
        if self._task is not None:
            self._progress.update(self._task, completed=received)

    def end(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


@contextmanager
def _shown(common: Common) -> Iterator[FetchWatcher]:
    if common.quiet:
        yield _Silent()
    elif not sys.stderr.isatty():
        yield _Lines()
    else:
        with new_bar() as progress:
            yield _Bar(progress)


def new_bar() -> Progress:
    """Return bars for what is downloaded, drawn on stderr."""
    from rich import progress as bars  # noqa: PLC0415 - only where it draws
    from rich.console import Console  # noqa: PLC0415

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TransferSpeedColumn(),
        bars.TimeRemainingColumn(),
    )
    return bars.Progress(*columns, console=Console(stderr=True), transient=True)


@dataclass(frozen=True, slots=True)
class _Logged:
    """Writes down what another watcher shows."""

    watcher: FetchWatcher
    lines: TextIO

    def begin(self, files: int, size: int | None) -> None:
        """Pass it on."""
        self.watcher.begin(files, size)

    def file(self, filename: str, place: str) -> None:
        """Write it down and pass it on."""
        self.lines.write(_from(filename, place) + "\n")
        self.watcher.file(filename, place)

    def received(self, count: int) -> None:
        """Pass it on."""
        self.watcher.received(count)

    def tell(self, text: str) -> None:
        """Write it down and pass it on."""
        self.lines.write(text + "\n")
        self.watcher.tell(text)


def _from(filename: str, place: str) -> str:
    return tr("fetching {file} from {place}", file=filename, place=place)


class _Silent:
    def begin(self, files: int, size: int | None) -> None:
        """Hear nothing."""

    def file(self, filename: str, place: str) -> None:
        """Hear nothing."""

    def received(self, count: int) -> None:
        """Hear nothing."""

    def tell(self, text: str) -> None:
        """Hear nothing."""


class _Lines(_Silent):
    def begin(self, files: int, size: int | None) -> None:
        """Say how much there is to fetch."""
        count = tr("1 file") if files == 1 else tr("{count} files", count=files)
        amount = tr("{size} to fetch", size=render_size(size)) if size else tr("size not known")
        note(tr("fetching the torch stack: {count}, {amount}", count=count, amount=amount))

    def file(self, filename: str, place: str) -> None:
        """Say what comes from where."""
        note(_from(filename, place))

    def tell(self, text: str) -> None:
        """Pass it on."""
        note(text)


@dataclass(slots=True)
class _Bar:
    """One bar for all bytes, with the file that was begun last."""

    progress: Progress
    task: list[TaskID] = field(default_factory=list)

    def begin(self, files: int, size: int | None) -> None:
        """Draw the bar."""
        self.task.append(self.progress.add_task(tr("fetching {count} files", count=files), total=size))

    def file(self, filename: str, place: str) -> None:
        """Name the file."""
        name = "-".join(filename.split("-")[:2])
        for task in self.task:
            self.progress.update(task, description=tr("{file} from {place}", file=name, place=place))

    def received(self, count: int) -> None:
        """Move the bar, back where bytes are to come again."""
        for task in self.task:
            self.progress.advance(task, count)

    def tell(self, text: str) -> None:
        """Write a line above the bar."""
        self.progress.console.print(printable(text), markup=False, highlight=False)
