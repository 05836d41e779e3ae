"""Which part of a file a connection reads next."""

from __future__ import annotations

from gpuenv.downloads.assembly import Assembly, Segment
from gpuenv.downloads.pace import Pace, Sharing

_AHEAD = 32 << 20  # bytes that wait in memory, about
_SECOND_TRIES = 2  # for one silence


class Schedule:
    """The order of the parts: from the start on, none too far ahead of what is kept."""

    def __init__(self, file: Assembly, pace: Pace, sharing: Sharing) -> None:
        self._file, self._pace, self._sharing = file, pace, sharing
        self._second_tries = 0

    def choose(self, now_s: float, connections: int) -> Segment | None:
        """Return what to read now, None where there is nothing for the time being."""
        segment = self._file.unread()
        if segment is None or segment.start - self._file.front > _AHEAD:
            return self._again(now_s) or self._share(now_s, connections)
        return self._cut(segment, connections)

    def silent(self, now_s: float) -> bool:
        """Whether nothing has come for long of what is to be kept next, which may be asked for once more."""
        first = self._file.segments[0]
        waits = first.readers > 0 and now_s - first.moved_s > self._sharing.silent_s
        return waits and self._second_tries < _SECOND_TRIES

    def moved(self) -> None:
        """Note that something came of what is to be kept next."""
        self._second_tries = 0

    def _again(self, now_s: float) -> Segment | None:
        if not self.silent(now_s):
            return None
        self._second_tries += 1
        return self._file.segments[0]

    def _share(self, now_s: float, connections: int) -> Segment | None:
        """Return a part of a segment that would take long."""
        for segment in self._file.segments:
            near = segment.readers and segment.reached - self._file.front < _AHEAD
            large = segment.missing > 2 * self._sharing.least_part
            if near and large and segment.needs_s(now_s) > self._sharing.worth_s:
                size = self._pace.part_size(connections, segment.missing)
                rest = self._file.split(segment, segment.reached + min(size, segment.missing // 2))
                return self._cut(rest, connections)
        return None

    def _cut(self, segment: Segment, connections: int) -> Segment:
        size = self._pace.part_size(connections, segment.missing)
        if connections > 1 and segment.missing > size + self._sharing.least_part:
            self._file.split(segment, segment.reached + size)
        return segment
