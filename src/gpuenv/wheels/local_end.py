"""The members at the end of a wheel on disk, read without the thousands of entries before them.

Installers and specifications put .dist-info there.
https://packaging.python.org/en/latest/specifications/binary-distribution-format/#recommended-archiver-features
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from gpuenv.wheels.zip_directory import last_entries, parse_end_record, shortened

_TAIL = 64 << 10  # holds an end record with the longest comment, or some hundred entries


def read_member(wheel: Path, is_wanted: Callable[[str], bool]) -> bytes | None:
    """Return the content of the first member whose name is wanted; None where there is none.

    Raises OSError, zipfile.BadZipFile.
    """
    with wheel.open("rb") as file:
        for source in (_last_part(file), file):
            if source is None:
                continue
            with zipfile.ZipFile(source) as archive:
                name = next(filter(is_wanted, archive.namelist()), None)
                if name is not None:
                    return archive.read(name)
    return None


def _last_part(file: IO[bytes]) -> IO[bytes] | None:
    """Return the same zip file with a directory of its last entries alone; None if that is not enough."""
    length = file.seek(0, io.SEEK_END)
    start = file.seek(max(0, length - _TAIL))
    tail = file.read()
    record = parse_end_record(tail, length)
    if record is None:
        return None
    entries = last_entries(tail[max(0, record.start - start) : record.position - start])
    if not entries:
        return None
    return io.BufferedReader(_Ending(file, record.position - len(entries), shortened(record, entries)))


class _Ending(io.RawIOBase):
    """A file up to `position`, with another end from there on."""

    def __init__(self, file: IO[bytes], position: int, end: bytes) -> None:
        super().__init__()
        self._file, self._position, self._end, self._at = file, position, end, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._position + len(self._end)}
        self._at = bases[whence] + offset
        if self._at < 0:
            raise OSError(22, "before the beginning")
        return self._at

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        if self._at >= self._position:
            begin = self._at - self._position
            piece = self._end[begin : begin + len(buffer)]
        else:
            self._file.seek(self._at)
            piece = self._file.read(min(len(buffer), self._position - self._at))
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)
