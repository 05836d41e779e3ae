"""What a shared library of Linux asks of the loader, from a few reads of its file."""

from __future__ import annotations

import struct
from collections.abc import Callable

from msgspec import Struct

from gpuenv.i18n.messages import tr

Read = Callable[[int, int], bytes]
"""Returns so many bytes from an offset on, fewer at the file's end."""

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little endian: all that torch is built for
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<qQ")
_LOAD, _DYNAMIC = 1, 2  # kinds of segments
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29  # tags of the dynamic section
_MOST_SEGMENTS = 128
_LARGEST_DYNAMIC = 1 << 16
_LONGEST_NAME = 4096


class LinkedLibraries(Struct, frozen=True):
    """The libraries a file is linked with, and where the loader is to look.

    LD_LIBRARY_PATH comes before `runpath` and after `rpath`.
    """

    libraries: tuple[str, ...]
    rpath: str | None
    runpath: str | None


class _Segment(Struct, frozen=True):
    kind: int
    offset: int
    address: int
    size: int


def parse_needs(read: Read) -> LinkedLibraries:
    """Read the dynamic section; raise ValueError for anything but a 64-bit ELF file with one.

    https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.dynamic.html
    """
    segments = _segments(read)
    dynamic = next((item for item in segments if item.kind == _DYNAMIC), None)
    if dynamic is None:
        raise ValueError(tr("it has no dynamic section"))
    data = read(dynamic.offset, min(dynamic.size, _LARGEST_DYNAMIC))
    entries = [
        _ENTRY.unpack_from(data, position) for position in range(0, len(data) - _ENTRY.size + 1, _ENTRY.size)
    ]
    facts = dict(reversed(entries))
    if _STRINGS not in facts:
        raise ValueError(tr("it has no table of names"))
    base = _offset(facts[_STRINGS], segments)

    def name(position: int | None) -> str | None:
        return None if position is None else _text(read(base + position, _LONGEST_NAME))

    libraries = tuple(
        _text(read(base + location, _LONGEST_NAME)) for tag, location in entries if tag == _NEEDED
    )
    return LinkedLibraries(libraries, name(facts.get(_RPATH)), name(facts.get(_RUNPATH)))


def _segments(read: Read) -> list[_Segment]:
    header = read(0, _HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise ValueError(tr("is not a 64-bit ELF file"))
    _, _, _, _, _, start, _, _, _, size, count, *_ = _HEADER.unpack(header)
    if size != _PROGRAM.size or not 0 < count <= _MOST_SEGMENTS:
        raise ValueError(tr("its table of segments cannot be read"))
    table = read(start, size * count)
    if len(table) < size * count:
        raise ValueError(tr("its table of segments is cut short"))
    rows = (_PROGRAM.unpack_from(table, position * size) for position in range(count))
    return [_Segment(kind, offset, address, held) for kind, _, offset, address, _, held, _, _ in rows]


def _offset(address: int, segments: list[_Segment]) -> int:
    for item in segments:
        if item.kind == _LOAD and item.address <= address < item.address + item.size:
            return address - item.address + item.offset
    raise ValueError(tr("its table of names lies outside of it"))


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("utf-8", errors="replace")
