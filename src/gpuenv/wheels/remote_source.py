"""The bytes of a wheel on a server, as remotezip asks for them: few, and no sooner than they are read."""

from __future__ import annotations

import io
import zipfile

from remotezip import PartialBuffer

from gpuenv.http.ranges import BrokenFileError, ByteRanges
from gpuenv.i18n.messages import tr
from gpuenv.wheels.zip_directory import END_BYTES, EndRecord, last_entries, shortened, whole_entries

_HEAD = 12 << 10  # holds a torch wheel's first entries, up to torch/version.py
_LOCAL_HEADER = 30
_SPARE = 64  # a member's local header may name more than its entry in the directory
_PIECE = 128 << 10


class WheelSource:
    """What RemoteZip reads from: the end of the file is at hand, the rest comes in pieces.

    While `record` is set, its end has the directory's first and last entries only.
    """

    def __init__(self, ranges: ByteRanges, tail: bytes, record: EndRecord | None) -> None:
        self.ranges = ranges
        self.record = record
        self._end = tail
        self._length = ranges.length or len(tail)
        self._whole = (self._end, self._length)
        self._expected = (0, 0, 0)

    def shorten(self) -> None:
        """Let the directory be one of the entries that stand at its ends."""
        if self.record is None:
            return
        head = whole_entries(self.ranges.read(self.record.start, self.record.start + _HEAD))
        kept = self._end[: len(self._end) - (self._length - self.record.position)]
        self._end = shortened(self.record, head + last_entries(kept))
        self._length = self.record.position + END_BYTES

    def lengthen(self) -> None:
        """Let the directory be the one that is there."""
        self._end, self._length = self._whole

    def starts_like_a_zip(self) -> bytes:
        """Return the first bytes of the file."""
        return self.ranges.read(0, min(4, self._whole[1]))

    def expect(self, info: zipfile.ZipInfo, first: int) -> None:
        """Say which member is read next, and how much of it at once."""
        name = len(info.filename.encode("utf-8", "surrogateescape")) + len(info.extra)
        end = info.header_offset + _LOCAL_HEADER + name + _SPARE + info.compress_size
        self._expected = (info.header_offset, end, max(first, _PIECE))

    def fetch(self, data_range: tuple[int, int | None], stream: bool = False) -> PartialBuffer:
        """Return a part of the file, as remotezip asks for it: `(-65536, None)` or `(first, last)`."""
        del stream  # what is not at hand is received as far as it is read
        start, last = data_range
        offset = self._length - len(self._end)
        start = offset if start < 0 else start
        end = min(self._length if last is None else last + 1, self._length)
        if start >= end:
            raise BrokenFileError(tr("names a part that it does not have"))
        if start >= offset:
            held = self._end[start - offset : end - offset]
            return PartialBuffer(io.BytesIO(held), start, len(held), stream=False)
        return PartialBuffer(
            _Pieces(self.ranges, start, end, self._first(start)), start, end - start, stream=True
        )

    def _first(self, start: int) -> int:
        begins, ends, first = self._expected
        return min(first, ends - start) if begins <= start < ends else _PIECE


class _Pieces:
    """A part of the file that is received as far as it is read, a first piece and then smaller ones."""

    def __init__(self, ranges: ByteRanges, start: int, end: int, first: int) -> None:
        self._ranges = ranges
        self._next, self._end = start, end
        self._piece = first
        self._held = memoryview(b"")
        self._told = 0
        self.closed = False

    def read(self, count: int) -> bytes:
        """Return `count` bytes, fewer only at the end."""
        taken = bytearray()
        while len(taken) < count and (self._held or self._receive()):
            part = self._held[: count - len(taken)]
            self._held = self._held[len(part) :]
            taken += part
        self._told += len(taken)
        return bytes(taken)

    def _receive(self) -> bool:
        if self._next >= self._end:
            return False
        ends = min(self._next + self._piece, self._end)
        self._held = memoryview(self._ranges.read(self._next, ends))
        self._next, self._piece = ends, _PIECE
        return True

    def tell(self) -> int:
        """Tell how many bytes were handed out."""
        return self._told

    def close(self) -> None:
        """Drop what was received."""
        self._held = memoryview(b"")
        self.closed = True
