"""What `gpuenv plan --fetch-hashes` shows while it downloads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuenv.cli.commands.create.progress import new_bar
from gpuenv.cli.options import Common
from gpuenv.cli.output import note
from gpuenv.i18n.messages import tr
from gpuenv.model.amounts import render_size
from gpuenv.planning.hashes.fetch import HashProgress, Unwatched

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextmanager
def hashing(common: Common) -> Iterator[HashProgress]:
    """Follow what is fetched: with a bar on a terminal, a line a file elsewhere."""
    if common.quiet:
        yield Unwatched()
    elif not sys.stderr.isatty():
        yield _Lines()
    else:
        with new_bar() as progress:
            yield _Bar(progress)


class _Lines(Unwatched):
    def file(self, filename: str, size: int | None) -> None:
        """Say what is fetched."""
        amount = render_size(size) if size else tr("size not known")
        note(tr("fetching {file} for its hash ({size})", file=filename, size=amount))


class _Bar:
    """A bar a file."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def file(self, filename: str, size: int | None) -> None:
        """Draw a bar."""
        self._task = self._progress.add_task("-".join(filename.split("-")[:2]), total=size)

    def received(self, count: int) -> None:
        """Move it."""
        if self._task is not None:
            self._progress.advance(self._task, count)
