"""Repodata: the entries of the wanted names are read from any pieces, all else is a ValueError."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import msgpack
import pytest
from conda_channel import SHARDS, repodata, shards, zstd
from conda_packages import CondaPackage
from hypothesis import example, given
from hypothesis import strategies as st

from gpuenv.http.streams import Validators
from gpuenv.indexes.conda.json_stream import JsonStream
from gpuenv.indexes.conda.parse_repodata import parse_repodata
from gpuenv.indexes.conda.parse_shards import parse_shard, parse_shard_index
from gpuenv.indexes.conda.record import Entries, Folder, join_path, package_of, parse_record, select_records
from gpuenv.indexes.conda.store import StoredRecords, parse_reading, render_reading
from gpuenv.indexes.conda.zstd import decompress, decompressed

FOLDER = Folder("conda-forge", "linux-64", "https://conda.example.com/conda-forge/linux-64")
PACKAGES = (
    CondaPackage("pytorch", "2.8.0", "cuda126_mkl_py312_h0_300", 300, depends=("__cuda", "python >=3.12")),
    CondaPackage("pytorch", "1.12.1", "py3.10_cpu_0", constrains=("cpuonly <0",), ending=".tar.bz2"),
    CondaPackage("pytorch-cuda", "12.4", "h0_6", 6, ending=".tar.bz2"),
    CondaPackage("braces", "1.0", depends=("a }, b", '}, "pytorch-9-0.conda": {')),
    CondaPackage("python", "3.12.9", "h0_0_cpython"),
)
TORCH = frozenset({"pytorch"})
words = st.text(st.characters(codec="utf-8"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


def cut(text: str, places: list[int]) -> Iterator[str]:
    """Cut a text at these places."""
    marks = [0, *sorted(position % (len(text) + 1) for position in places), len(text)]
    return (text[start:end] for start, end in pairwise(marks))


def document(*packages: CondaPackage, **more: Any) -> bytes:
    return json.dumps({**repodata("linux-64", packages or PACKAGES), **more}).encode()


@given(values, st.lists(st.integers(0, 10**6), max_size=8), st.sampled_from([None, 1]))
@example([5.8e84], list(range(60)), None)
def test_any_json_is_read_from_any_pieces(value: object, places: list[int], indent: int | None) -> None:
    text = json.dumps({"first": value, "second": [value]}, indent=indent)
    stream = JsonStream(cut(text, places))
    assert [(key, stream.value()) for key in stream.keys()] == [("first", value), ("second", [value])]  # noqa: SIM118
    stream.finish()
    skipping = JsonStream(cut(text, places))
    for _ in skipping.keys():  # noqa: SIM118
        skipping.skip()
    skipping.finish()


@given(st.integers(0, 10**6))
def test_a_document_that_breaks_off_is_none(place: int) -> None:
    whole = document()
    with pytest.raises(ValueError, match=r"."):
        parse_repodata([whole[: place % len(whole)]], TORCH)


@given(st.text(max_size=60) | st.text('{}[]":, \\nte1packages.conda', max_size=60))
def test_any_text_is_repodata_or_a_value_error(text: str) -> None:
    try:
        parse_repodata([text.encode(errors="surrogatepass")], TORCH)
    except ValueError:
        return
    assert "packages" in text


@given(st.lists(st.integers(0, 10**6), max_size=8), st.sampled_from([None, 2]))
def test_the_wanted_entries_are_found_wherever_the_pieces_end(places: list[int], indent: int | None) -> None:
    text = json.dumps(repodata("linux-64", PACKAGES), indent=indent)
    entries = parse_repodata((piece.encode() for piece in cut(text, places)), TORCH)
    assert {name for name, _ in entries.entries} == {PACKAGES[0].filename, PACKAGES[1].filename}
    assert dict(entries.entries)[PACKAGES[0].filename] == PACKAGES[0].entry


def test_what_stands_beside_the_packages_is_passed_over() -> None:
    signatures = {PACKAGES[0].filename: {"key": {"signature": "00"}}}
    read = parse_repodata([document(signatures=signatures, removed=["pytorch-0.1-0.conda"] * 3)], TORCH)
    assert len(read.entries) == 2
    moved = repodata("linux-64", PACKAGES, base_url="https://files.example.com/")
    assert parse_repodata([json.dumps(moved).encode()], TORCH).base_url == "https://files.example.com/"


def test_entries_with_braces_in_their_strings_are_passed_over_whole() -> None:
    names = frozenset({"python", "braces"})
    entries = dict(parse_repodata([document()], names).entries)
    assert entries[PACKAGES[3].filename]["depends"] == list(PACKAGES[3].depends)
    assert set(entries) == {PACKAGES[3].filename, PACKAGES[4].filename}


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "[]", "null", "<html><body>404</body></html>", "{}", '{"packages": []}', '{"error": "no"}',
        '{"packages": {}', '{"packages": {}} {}', '{"packages": {"a"}}', '{"packages": {1: 2}}',
        "[" * 100_000,
        '{"info": ' + "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_repodata_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_repodata([text.encode()], TORCH)


def test_a_byte_order_mark_and_a_split_character_are_read() -> None:
    text = b"\xef\xbb\xbf" + document(note="日本語").replace(b"\\u65e5", "日".encode())
    assert len(parse_repodata((text[at : at + 1] for at in range(len(text))), TORCH).entries) == 2


def test_one_endless_member_is_not_held() -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"packages": {"a-1-0.conda": "'
        for _ in range(40):
            yield b"x" * (1 << 20)

    with pytest.raises(ValueError, match="too long"):
        parse_repodata(pieces(), TORCH)


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("pytorch-2.8.0-cuda126_mkl_py312_h0_300.conda", "pytorch"),
        ("pytorch-cuda-12.4-h0_6.tar.bz2", "pytorch-cuda"),
        ("pytorch-2.8.0.conda", None),
        ("pytorch-2.8.0-0.zip", None),
        ("-1-0.conda", None),
    ],
)
def test_a_file_name_tells_the_package(filename: str, name: str | None) -> None:
    assert package_of(filename) == name


def test_a_record_has_what_its_entry_tells() -> None:
    package = PACKAGES[0]
    record = parse_record(package.filename, package.entry, FOLDER)
    assert (record.name, record.version, record.build, record.build_number) == (
        "pytorch", "2.8.0", "cuda126_mkl_py312_h0_300", 300,
    )  # fmt: skip
    assert record.depends == package.depends
    assert record.url == f"{FOLDER.url}/{package.filename}"
    assert record.sha256 == hashlib.sha256(package.content).hexdigest()
    assert record.size == len(package.content)


@given(words, values)
def test_any_entry_is_a_record_or_a_value_error(filename: str, entry: object) -> None:
    for name in (filename, PACKAGES[0].filename, f"{filename}-1-0.conda"):
        try:
            record = parse_record(name, entry, FOLDER)
        except ValueError:
            continue
        assert record.filename == name


def test_garbled_entries_are_named_and_a_build_in_both_formats_counts_once() -> None:
    old = {**PACKAGES[0].entry, "build": PACKAGES[0].build}
    stem = PACKAGES[0].stem
    entries = (
        (f"{stem}.conda", old),
        (f"{stem}.tar.bz2", old),
        ("pytorch-1-0.conda", {"name": "pytorch"}),
        ("pytorch-../../x-0.conda", old),
    )
    records, garbled = select_records(Entries(entries), FOLDER)
    assert [record.filename for record in records] == [f"{stem}.conda"]
    assert garbled == ("pytorch-1-0.conda", "pytorch-../../x-0.conda")


def test_a_token_stays_at_the_end_of_an_address() -> None:
    assert join_path("https://h.example.com/c/?t=1", "linux-64") == "https://h.example.com/c/linux-64?t=1"


def test_shards_hold_what_repodata_holds() -> None:
    files = shards(repodata("linux-64", PACKAGES))
    index = parse_shard_index(files[SHARDS], frozenset({"pytorch", "nosuch"}))
    ((name, digest),) = index.shards
    assert (name, index.shards_base_url, index.base_url) == ("pytorch", "./shards/", None)
    from_shard = parse_shard(files[f"shards/{digest}.msgpack.zst"], digest, "pytorch")
    from_json = parse_repodata([document()], TORCH)
    assert select_records(from_shard, FOLDER) == select_records(from_json, FOLDER)


def test_a_shard_that_is_another_file_is_refused() -> None:
    files = shards(repodata("linux-64", PACKAGES))
    (digest,) = (digest for _, digest in parse_shard_index(files[SHARDS], TORCH).shards)
    data = files[f"shards/{digest}.msgpack.zst"]
    with pytest.raises(ValueError, match="differs from the file"):
        parse_shard(data[:-1], digest, "pytorch")


def test_what_a_shard_says_was_removed_is_no_more() -> None:
    shard = {"packages": {}, "packages.conda": {PACKAGES[0].filename: {}}, "removed": [PACKAGES[0].filename]}
    data = zstd.compress(msgpack.packb(shard))
    assert parse_shard(data, hashlib.sha256(data).hexdigest(), "pytorch").entries == ()


@given(values | st.binary(max_size=40).map(lambda data: {"version": 1, "shards": {"pytorch": data}}))
def test_any_message_is_an_index_of_shards_or_a_value_error(value: object) -> None:
    data = zstd.compress(msgpack.packb(value))
    for parse in (
        parse_shard_index,
        lambda data, _: parse_shard(data, hashlib.sha256(data).hexdigest(), "x"),
    ):
        try:
            parse(data, TORCH)
        except ValueError:
            continue
        assert isinstance(value, dict)


@given(st.binary(max_size=80))
def test_any_bytes_are_shards_or_a_value_error(data: bytes) -> None:
    for given_ in (data, zstd.compress(data), zstd.compress(b"x")[:4] + data):
        with pytest.raises(ValueError, match=r"."):
            parse_shard_index(given_, TORCH)


@given(st.binary(max_size=3000), st.integers(1, 64), st.integers(1, 3))
def test_frames_are_decompressed_from_any_pieces(content: bytes, size: int, frames: int) -> None:
    data = zstd.compress(content) * frames
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert b"".join(decompressed(pieces)) == content * frames
    with pytest.raises(ValueError, match=r"."):
        b"".join(decompressed([data[:-1]]))


def test_what_is_not_compressed_is_taken_as_it_is() -> None:
    assert b"".join(decompressed([b"{", b'"a"', b": 1}"])) == b'{"a": 1}'
    assert b"".join(decompressed([])) == b""


def test_what_swells_is_refused_before_it_is_held() -> None:
    bomb = zstd.compress(bytes(64 << 20))
    assert max(map(len, decompressed([bomb]))) <= 1 << 20
    with pytest.raises(ValueError, match="more than 1 MB"):
        decompress(bomb, 1 << 20)


def a_reading() -> StoredRecords:
    records, _ = select_records(parse_repodata([document()], TORCH), FOLDER)
    return StoredRecords(
        "repodata.json.zst", Validators('"5f"', None), 1_790_000_000.5, 60, TORCH, FOLDER.url, records,
        ("pytorch-1-0.conda",), (("pytorch", "27ea"),),
    )  # fmt: skip


def test_a_reading_is_read_back_as_it_was() -> None:
    assert parse_reading(render_reading(a_reading()), FOLDER) == a_reading()


@given(values, st.sampled_from(sorted(json.loads(render_reading(a_reading())))))
def test_a_reading_that_was_garbled_is_none(value: object, key: str) -> None:
    answer = json.loads(render_reading(a_reading()))
    with suppress(ValueError):
        parse_reading(json.dumps({**answer, key: value}), FOLDER)
    try:
        parse_reading(json.dumps(value), FOLDER)
    except ValueError:
        return
    pytest.fail("it is no reading")
