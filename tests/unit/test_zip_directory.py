"""A zip file whose directory was cut down reads as the whole one does, for the entries that are left."""

from __future__ import annotations

import io
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from gpuenv.wheels.zip_directory import last_entries, parse_end_record, shortened, whole_entries

_NAMES = st.lists(st.text("abcPK\x01\x02/_.é", min_size=1, max_size=40), min_size=3, max_size=30, unique=True)


def make_zip(names: list[str], comment: bytes = b"") -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.comment = comment
        for name in names:
            archive.writestr(name, f"content of {name}")
    return written.getvalue()


# a comment with what looks like a record in it is what zipfile itself can't read
_COMMENTS = st.binary(max_size=50).filter(lambda comment: b"PK\x05\x06" not in comment)


@given(_NAMES, st.integers(0, 2000), st.integers(0, 2000), _COMMENTS)
def test_the_entries_at_both_ends_can_be_read(
    names: list[str], first: int, last: int, comment: bytes
) -> None:
    data = make_zip(names, comment)
    record = parse_end_record(data, len(data))
    if record is None:
        return  # the comment holds what looks like a record
    directory = data[record.start : record.position]
    head, tail = (
        whole_entries(directory[:first]),
        last_entries(directory[len(directory) - last :] if last else b""),
    )
    if len(head) + len(tail) > len(directory):
        return
    short = data[: record.position - len(head) - len(tail)] + shortened(record, head + tail)
    with zipfile.ZipFile(io.BytesIO(short)) as archive, zipfile.ZipFile(io.BytesIO(data)) as whole:
        kept = archive.namelist()
        assert len(head) == 0 or kept[0] == whole.namelist()[0]
        assert len(tail) == 0 or kept[-1] == whole.namelist()[-1]
        for name in kept:
            assert archive.read(name) == whole.read(name)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_zip_have_no_record(data: bytes) -> None:
    if b"PK\x05\x06" not in data:
        assert parse_end_record(data, len(data)) is None
    assert last_entries(data.replace(b"PK\x01\x02", b"")) == b""


def test_a_record_that_only_a_full_reader_understands_is_left_to_it() -> None:
    data = make_zip(["a", "b"])
    assert (
        parse_end_record(b"prefix" + data, len(data) + 6) is None
    )  # the offsets are those of the file without it
    many = data[:-14] + b"\xff\xff\xff\xff" + data[-10:]
    assert parse_end_record(many, len(many)) is None
    assert parse_end_record(data[:-1], len(data) - 1) is None
