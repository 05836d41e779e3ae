"""Where a file is read, and one request of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from gpuenv.downloads.assembly import Segment
from gpuenv.downloads.expected import Expected
from gpuenv.downloads.pace import Sharing
from gpuenv.http.allowance import Allowance
from gpuenv.http.file_reader import FileReader


class Source(Struct, frozen=True):
    """Where a file is read, and how; `most_bytes` is for any file."""

    connect: Callable[[], FileReader]
    allowance: Allowance
    expected: Expected
    most_bytes: int
    sharing: Sharing


class Reading:
    """One request: the segment it is for, the position of the next byte, and when one came last."""

    def __init__(self, reader: FileReader, segment: Segment) -> None:
        self.reader = reader
        self.begin(segment)

    def begin(self, segment: Segment) -> None:
        """Read a segment from now on."""
        self.segment = segment
        self.first = self.position = segment.reached
        self.moved_s = time.monotonic()
        segment.begin(self.moved_s)

    def end(self) -> None:
        """Leave the segment."""
        self.segment.readers -= 1

    @property
    def is_overtaken(self) -> bool:
        """Whether what it reads is there already, or of no use any more."""
        return self.segment.dropped or self.position != self.segment.reached
