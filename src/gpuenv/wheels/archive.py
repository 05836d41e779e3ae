"""Members of a wheel, on a server or on disk, read without unpacking it; nothing is ever written."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from remotezip import RemoteZip, RemoteZipError

from gpuenv.http.ranges import BrokenFileError, ByteRanges, NoRangesError
from gpuenv.i18n.messages import tr
from gpuenv.wheels.remote_source import WheelSource
from gpuenv.wheels.zip_directory import parse_end_record

if TYPE_CHECKING:
    from typing_extensions import Self

WheelFault = Literal["no-ranges", "not-a-zip", "broken", "missing", "unreadable", "too-large", "unsafe-names"]

_TAIL = 128 << 10  # holds the last entries of a torch wheel's directory, from torch/lib on
_LARGEST_DIRECTORY = 32 << 20
_CHUNK = 1 << 16


class WheelProblem(Exception):  # noqa: N818 - not an error of ours: what the file is
    """Why a wheel could not be read: `fault` for programs, `reason` reads after its name."""

    def __init__(self, fault: WheelFault, reason: str) -> None:
        super().__init__(reason)
        self.fault: WheelFault = fault
        self.reason = reason


class WheelArchive:
    """A wheel whose members can be read; HttpProblem and OSError are the server's and the disk's."""

    def __init__(self, archive: zipfile.ZipFile, part: WheelSource | None = None) -> None:
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

    @property
    def length(self) -> int | None:
        """The bytes of the file itself; None where a server has not stated them yet."""
        if self._part:
            return self._part.ranges.length
        return Path(str(self._archive.filename)).stat().st_size

    @property
    def unpacked(self) -> int:
        """The bytes of all members as the directory states them; reads the whole directory."""
        self._widen()
        return sum(info.file_size for info in self._archive.infolist())

    def find(self, wanted: Callable[[str], bool]) -> str | None:
        """Return the name of the first member that is wanted; the whole directory is read only if need be."""
        value = next(filter(wanted, self._archive.namelist()), None)
        if value is None and self._widen():
            value = next(filter(wanted, self._archive.namelist()), None)
        return value

    def largest(self, wanted: Callable[[str], bool]) -> str | None:
        """Return the name of the largest member that is wanted; reads the whole directory."""
        self._widen()
        infos = [info for info in self._archive.infolist() if wanted(info.filename)]
        return max(infos, key=lambda info: info.file_size).filename if infos else None

    def read(self, member: str, *, limit: int) -> bytes:
        """Read a member of at most `limit` bytes, its checksum included."""
        info = self._info(member)
        if info.file_size > limit:
            raise WheelProblem("too-large", tr("has a `{member}` that is too large", member=member))
        with _explained(member), self._opened(info, first=limit) as file:
            return bytes(file.read())

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
    """Open a wheel on a server; `whole` reads its whole directory and checks all names in it.

    The connection is closed with the wheel, or when it can't be opened.
    """
    try:
        return _open_remote(ranges, whole=whole)
    except BaseException:
        ranges.close()
        raise


def _open_remote(ranges: ByteRanges, *, whole: bool) -> WheelArchive:
    with _explained(None):
        tail = ranges.read_tail(_TAIL)
    length = ranges.length or len(tail)
    part = WheelSource(ranges, tail, parse_end_record(tail, length))
    if part.record and part.record.size > _LARGEST_DIRECTORY:
        raise WheelProblem("too-large", tr("has a directory that is too large"))
    if whole or part.record is None or part.record.size <= len(tail):
        part.record = None
        return WheelArchive(_open_whole(part), part)
    with _explained(None):
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


def _open(part: WheelSource) -> zipfile.ZipFile:
    with _explained(None):
        try:
            archive: zipfile.ZipFile = RemoteZip(part.ranges.url, fetcher=lambda *_, **__: part)
        except zipfile.BadZipFile:
            raise _no_zip(part.starts_like_a_zip()) from None
    return archive


def _open_whole(part: WheelSource) -> zipfile.ZipFile:
    part.lengthen()
    return _checked(_open(part))


def _checked(archive: zipfile.ZipFile) -> zipfile.ZipFile:
    unsafe = next((name for name in archive.namelist() if _is_unsafe(name)), None)
    if unsafe is None:
        return archive
    archive.close()
    raise WheelProblem("unsafe-names", tr("has a member outside itself: {name}", name=ascii(unsafe[:100])))


def _is_unsafe(name: str) -> bool:
    """Tell whether a name leads out of a folder on some system; a wheel may have 12,000 of them."""
    return (
        not name
        or name[0] in "/\\"
        or name[1:2] == ":"  # a drive
        or "\0" in name
        or (".." in name and ".." in name.replace("\\", "/").split("/"))
    )


def _no_zip(start: bytes) -> WheelProblem:
    if start.startswith(b"PK"):
        return WheelProblem("broken", tr("is truncated: its directory is missing or garbled"))
    return WheelProblem("not-a-zip", tr("is not a zip file"))


@contextmanager
def _explained(member: str | None) -> Iterator[None]:
    """Turn what the readers raise into what is wrong with the file."""
    where = tr("`{member}` in it", member=member) if member else tr("it")
    try:
        yield
    except NoRangesError:
        raise WheelProblem(
            "no-ranges", tr("is on a server that does not support partial downloads")
        ) from None
    except BrokenFileError as error:
        raise WheelProblem("broken", str(error)) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, RemoteZipError) as error:
        raise WheelProblem(
            "broken",
            tr("is truncated or garbled: {where} cannot be read ({error})", where=where, error=error),
        ) from None
    except (RuntimeError, NotImplementedError) as error:  # encrypted; a compression zipfile does not know
        raise WheelProblem(
            "unreadable", tr("cannot be read: {where}: {error}", where=where, error=error)
        ) from None
