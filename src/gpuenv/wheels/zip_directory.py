"""The directory at the end of a zip file, cut down to the entries at its two ends.

A torch wheel's directory has 13,000 entries in 1.2 MB, and what is wanted of it stands near its ends. With an
end record that names a shorter directory it is a zip file still: its entries keep their places.
https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT 4.3.12, 4.3.16
"""

from __future__ import annotations

import struct

from msgspec import Struct

END_BYTES = 22
_END = struct.Struct("<4s4H2IH")
_END_SIGNATURE = b"PK\x05\x06"
_ENTRY = struct.Struct("<4s6H3I5H2I")
_ENTRY_SIGNATURE = b"PK\x01\x02"
_MANY = 0xFFFF  # then the true number stands in a zip64 record
_FAR = 0xFFFFFFFF


class EndRecord(Struct, frozen=True):
    """Where a zip file's directory is: `position` of the record in the file, `start` of the directory."""

    position: int
    start: int
    size: int


def parse_end_record(tail: bytes, length: int) -> EndRecord | None:
    """Find the end record in the last bytes of a file of `length` bytes.

    None where there is none, or where it is one of those that only a full reader understands: zip64, or a
    directory that does not end where the record begins.
    """
    offset = tail.rfind(_END_SIGNATURE)
    while offset >= 0:
        if offset + END_BYTES <= len(tail):
            _, disk, first, _, count, size, start, comment = _END.unpack_from(tail, offset)
            if offset + END_BYTES + comment == len(tail):
                position = length - len(tail) + offset
                plain = not disk and not first and count != _MANY and _FAR not in (size, start)
                return EndRecord(position, start, size) if plain and start + size == position else None
        offset = tail.rfind(_END_SIGNATURE, 0, offset)
    return None


def whole_entries(head: bytes) -> bytes:
    """Return the entries that are whole, of the first bytes of a directory."""
    return head[: _walk(head, 0)]


def last_entries(tail: bytes) -> bytes:
    """Return the entries that are whole, of the last bytes of a directory.

    Their signature may stand in a name by chance: the first of them counts from which entry follows entry up
    to the very end.
    """
    position = tail.find(_ENTRY_SIGNATURE)
    while position >= 0:
        if _walk(tail, position) == len(tail):
            return tail[position:]
        position = tail.find(_ENTRY_SIGNATURE, position + 1)
    return b""


def _walk(data: bytes, position: int) -> int:
    """Step from entry to entry; return where the last whole one ends."""
    while position + _ENTRY.size <= len(data) and data.startswith(_ENTRY_SIGNATURE, position):
        end = position + _entry_length(data, position)
        if end > len(data):
            break
        position = end
    return position


def _entry_length(data: bytes, position: int) -> int:
    lengths = _ENTRY.unpack_from(data, position)[10:13]  # of name, extra field, comment
    return _ENTRY.size + int(sum(lengths))


def shortened(record: EndRecord, entries: bytes) -> bytes:
    """Return the end of the same zip file with a directory of only these entries, up to the file's end.

    It starts at `record.position - len(entries)`; a comment is left out.
    """
    position = count = 0
    while position < len(entries):
        position += _entry_length(entries, position)
        count += 1
    start = record.position - len(entries)
    return entries + _END.pack(_END_SIGNATURE, 0, 0, count, count, len(entries), start, 0)
