"""Members of a wheel, on a server or on disk, read without unpacking it; nothing is ever written."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Literal

from remotezip import PartialBuffer, RemoteZip, RemoteZipError

from gpuenv.core.zip_directory import (
    END_BYTES,
    EndRecord,
    last_entries,
    parse_end_record,
    shortened,
    whole_entries,
)
from gpuenv.http.ranges import BrokenFileError, ByteRanges, NoRangesError
from gpuenv.values.text import tr

if TYPE_CHECKING:
    from typing_extensions import Self

WheelFault = Literal["no-ranges", "not-a-zip", "broken", "missing", "unreadable", "too-large", "unsafe-names"]

_TAIL = 160 << 10  # holds the last entries of a torch wheel's directory, from torch/lib on
_HEAD = 16 << 10  # holds the first ones, up to torch/version.py
_LARGEST_DIRECTORY = 32 << 20
_LOCAL_HEADER = 30
_SPARE = 64  # a member's local header may be longer than its entry in the directory
_PIECE = 256 << 10
_CHUNK = 1 << 16


class WheelProblem(Exception):  # noqa: N818 - not an error of ours: what the file is
    """Why a wheel could not be read: `fault` for programs, `reason` reads after its name."""

    def __init__(self, fault: WheelFault, reason: str) -> None:
        super().__init__(reason)
        self.fault: WheelFault = fault
        self.reason = reason


class WheelArchive:
    """A wheel whose members can be read; HttpProblem and OSError are the server's and the disk's."""

    def __init__(self, archive: zipfile.ZipFile, part: _Source | None = None) -> None:
        self._archive = archive
        self._part = part

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file or the connection."""
        self._archive.close()
        if self._part:
            self._part.ranges.close()

    @property
    def received(self) -> int:
        """The bytes received so far; 0 for a file on disk."""
        return self._part.ranges.received if self._part else 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members; reads the whole directory. Raises WheelProblem for names like `../x`."""
        self._widen()
        return tuple(self._archive.namelist())

    def find(self, wanted: Callable[[str], bool]) -> str | None:
        """Return the name of the first member that is wanted; the whole directory is read only if need be."""
        found = next(filter(wanted, self._archive.namelist()), None)
        if found is None and self._widen():
            found = next(filter(wanted, self._archive.namelist()), None)
        return found

    def read(self, member: str, *, limit: int) -> bytes:
        """Read a member of at most `limit` bytes, its checksum included."""
        info = self._info(member)
        if info.file_size > limit:
            raise WheelProblem("too-large", tr("has a `{member}` that is too large", member=member))
        with _explained(member), self._opened(info, first=limit) as file:
            return file.read()

    def stream(self, member: str, *, limit: int, first: float = 0.0) -> Iterator[bytes]:
        """Yield a member's bytes as they come, at most `limit`; stop early and no more is received.

        `first` is the share of it that is asked for at once: what is wanted does not stand before.
        """
        info = self._info(member)
        with _explained(member), self._opened(info, first=int(info.compress_size * first)) as file:
            left = limit
            while left > 0 and (chunk := file.read(min(_CHUNK, left))):
                left -= len(chunk)
                yield chunk

    def _info(self, member: str) -> zipfile.ZipInfo:
        try:
            return self._archive.getinfo(member)
        except KeyError:
            raise WheelProblem("missing", tr("has no `{member}`", member=member)) from None

    @contextmanager
    def _opened(self, info: zipfile.ZipInfo, *, first: int) -> Iterator[Any]:
        if self._part:
            self._part.expect(info, first)
        with self._archive.open(info) as file:
            yield file

    def _widen(self) -> bool:
        """Read the whole directory, unless that was done; whether there is more now."""
        if self._part is None or not self._part.record:
            return False
        self._part.record = None
        self._archive.close()
        self._archive = _open_whole(self._part)
        return True


def open_wheel(ranges: ByteRanges, *, whole: bool = False) -> WheelArchive:
    """Open a wheel on a server; `whole` reads its whole directory and checks all names in it."""
    with _explained(None):
        tail = ranges.read_tail(_TAIL)
    length = ranges.length or len(tail)
    part = _Source(ranges, tail, parse_end_record(tail, length))
    if part.record and part.record.size > _LARGEST_DIRECTORY:
        raise WheelProblem("too-large", tr("has a directory that is too large"))
    if whole or part.record is None or part.record.size <= len(tail):
        part.record = None
        return WheelArchive(_open_whole(part), part)
    part.shorten()
    return WheelArchive(_checked(_open(part)), part)


def open_local_wheel(path: Path) -> WheelArchive:
    """Open a wheel on disk."""
    with _explained(None):
        if not path.is_file():
            raise FileNotFoundError(str(path))
        try:
            return WheelArchive(_checked(zipfile.ZipFile(path)))
        except zipfile.BadZipFile:
            with path.open("rb") as file:
                start = file.read(4)
            raise _no_zip(start) from None


class _Source:
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
        with _explained(None):
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
        del stream  # it all is one
        start, last = data_range
        if start < 0 or start >= self._length - len(self._end):
            offset = self._length - len(self._end)
            return PartialBuffer(io.BytesIO(self._end), offset, len(self._end), stream=False)
        end = min(self._length if last is None else last + 1, self._length)
        if start >= end:
            raise BrokenFileError(tr("names a part that it does not have"))
        begins, ends, first = self._expected
        if begins <= start < ends:
            end = min(end, ends)
        return PartialBuffer(_Pieces(self.ranges, start, end, first), start, end - start, stream=True)


class _Pieces:
    """A part of the file that is received as far as it is read, a large piece first and then small ones."""

    def __init__(self, ranges: ByteRanges, start: int, end: int, first: int) -> None:
        self._ranges = ranges
        self._start, self._end = start, end
        self._here = start  # of what has not been handed out
        self._piece = first or _PIECE
        self._held = memoryview(b"")
        self.closed = False

    def read(self, count: int) -> bytes:
        taken = bytearray()
        while len(taken) < count and (self._held or self._more()):
            part = self._held[: count - len(taken)]
            self._held = self._held[len(part) :]
            taken += part
        self._here += len(taken)
        return bytes(taken)

    def _more(self) -> bool:
        begins = self._here + 0
        if begins >= self._end:
            return False
        ends = min(begins + self._piece, self._end)
        self._held = memoryview(self._ranges.read(begins, ends))
        self._piece = _PIECE
        return True

    def tell(self) -> int:
        return self._here - self._start

    def close(self) -> None:
        self.closed = True


def _open(part: _Source) -> zipfile.ZipFile:
    with _explained(None):
        try:
            archive: zipfile.ZipFile = RemoteZip(part.ranges.url, fetcher=lambda *_, **__: part)
        except zipfile.BadZipFile:
            raise _no_zip(part.starts_like_a_zip()) from None
    return archive


def _open_whole(part: _Source) -> zipfile.ZipFile:
    part.lengthen()
    return _checked(_open(part))


def _checked(archive: zipfile.ZipFile) -> zipfile.ZipFile:
    unsafe = next((name for name in archive.namelist() if _is_unsafe(name)), None)
    if unsafe is None:
        return archive
    archive.close()
    raise WheelProblem(
        "unsafe-names", tr("has a member outside itself: {name}", name=ascii(unsafe[:100]))
    )


def _is_unsafe(name: str) -> bool:
    windows = PureWindowsPath(name)
    return (
        not name
        or PurePosixPath(name).is_absolute()
        or bool(windows.drive or windows.root)
        or ".." in windows.parts
        or "\0" in name
    )


def _no_zip(start: bytes) -> WheelProblem:
    if start.startswith(b"PK"):
        return WheelProblem("broken", tr("is truncated: its directory is missing or garbled"))
    return WheelProblem("not-a-zip", tr("is no zip file"))


@contextmanager
def _explained(member: str | None) -> Iterator[None]:
    """Turn what the readers raise into what is wrong with the file."""
    where = tr("`{member}` in it", member=member) if member else tr("it")
    try:
        yield
    except NoRangesError:
        raise WheelProblem("no-ranges", tr("lies on a server that hands out whole files only")) from None
    except BrokenFileError as error:
        raise WheelProblem("broken", str(error)) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, RemoteZipError) as error:
        raise WheelProblem(
            "broken", tr("is truncated or garbled: {where} can't be read ({error})", where=where, error=error)
        ) from None
    except (RuntimeError, NotImplementedError) as error:  # encrypted; a compression zipfile does not know
        raise WheelProblem(
            "unreadable", tr("can't be read: {where}: {error}", where=where, error=error)
        ) from None
