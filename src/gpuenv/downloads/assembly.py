"""A file put together from parts that come at a time: its beginning is kept, the rest waits in memory."""

from __future__ import annotations

from typing import Protocol


class Kept(Protocol):
    """Where the bytes go, in order."""

    def add(self, chunk: bytes) -> None:
        """Keep the bytes that come next."""

    def empty(self) -> None:
        """Begin anew."""


class Segment:
    """The bytes from `reached` up to, not including, `end` (None: the file's end, which is not known).

    `readers` are how many connections read it; `moved_s` is when bytes of it came last, or it was begun.
    """

    __slots__ = ("ahead", "begun", "begun_s", "dropped", "end", "moved_s", "reached", "readers", "start")

    def __init__(self, start: int, end: int | None) -> None:
        self.start = self.reached = self.begun = start
        self.end = end
        self.ahead: list[bytes] = []
        self.readers = 0
        self.moved_s = self.begun_s = 0.0
        self.dropped = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is missing."""
        return self.end is not None and self.reached >= self.end

    @property
    def missing(self) -> int:
        """How many bytes are missing; 0 where the end is not known."""
        return 0 if self.end is None else self.end - self.reached

    def begin(self, now_s: float) -> None:
        """Note that a connection begins to read it."""
        self.readers += 1
        self.begun, self.begun_s, self.moved_s = self.reached, now_s, now_s

    def needs_s(self, now_s: float) -> float:
        """Return for how many seconds it still has to be read, at its pace so far."""
        pace = (self.reached - self.begun) / max(now_s - self.begun_s, 1e-6)
        return self.missing / max(pace, 1.0)


class Assembly:
    """A file whose bytes before `front` are kept, in order; not thread-safe."""

    def __init__(self, kept: Kept, front: int = 0) -> None:
        """Prepare to keep what follows `front`."""
        self._kept = kept
        self.front = self.received = front
        self.length: int | None = None
        self.segments = [Segment(front, None)]

    @property
    def is_whole(self) -> bool:
        """Whether all is kept."""
        return self.length is not None and self.front >= self.length

    def learn_length(self, length: int) -> None:
        """Say where the file ends."""
        self.length = self.segments[-1].end = length

    def begin_anew(self) -> None:
        """Forget all there is; what is still read of it counts for nothing."""
        self._kept.empty()
        for segment in self.segments:
            segment.dropped = True
        self.front = self.received = 0
        self.length = None
        self.segments = [Segment(0, None)]

    def put(self, segment: Segment, position: int, chunk: bytes) -> int:
        """Take bytes of a segment; return how many, 0 where the first of them is there or not of it."""
        if segment.dropped or position != segment.reached:
            return 0
        if segment.end is not None and len(chunk) > segment.end - position:
            chunk = chunk[: segment.end - position]
        if not chunk:
            return 0
        segment.reached += len(chunk)
        self.received += len(chunk)
        if segment is self.segments[0]:
            self._hand_on(chunk)
            self._advance()
        else:
            segment.ahead.append(chunk)
        return len(chunk)

    def split(self, segment: Segment, position: int) -> Segment:
        """End a segment at a position; return the rest as one of its own."""
        rest = Segment(position, segment.end)
        segment.end = position
        self.segments.insert(self.segments.index(segment) + 1, rest)
        return rest

    def following(self, segment: Segment) -> Segment | None:
        """Return the segment that starts where another ends."""
        return next((item for item in self.segments if item.start == segment.end), None)

    def unread(self) -> Segment | None:
        """Return the first segment that nobody reads and of which something is missing."""
        return next((item for item in self.segments if not item.readers and not item.is_whole), None)

    def _hand_on(self, chunk: bytes) -> None:
        self._kept.add(chunk)
        self.front += len(chunk)

    def _advance(self) -> None:
        while len(self.segments) > 1 and self.segments[0].is_whole:
            del self.segments[0]
            waiting, self.segments[0].ahead = self.segments[0].ahead, []
            for chunk in waiting:
                self._hand_on(chunk)
