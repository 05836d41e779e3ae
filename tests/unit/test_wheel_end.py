"""A member at the end of a wheel is read without the thousands of entries before it, and others as well."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.wheels import local_end
from gpuenv.wheels.local_end import read_member

RECORD = "torch-3.0.dist-info/RECORD"
TEXT = b"torch/__init__.py,sha256=5d1f,1\n" * 2000


def wheel(
    path: Path, members: int, *, first: bool = False, comment: bytes = b"", packed: bool = True
) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        names = [f"torch/include/ATen/ops/{number:05}.h" for number in range(members)]
        for name in (RECORD, *names) if first else (*names, RECORD):
            archive.writestr(name, TEXT if name == RECORD else b"")
        archive.comment = comment
    return path


def is_record(name: str) -> bool:
    return name == RECORD


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("comment", [b"", b"made by hand"])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("members", [0, 3000])
def test_it_is_found_wherever_it_is(
    tmp_path: Path, members: int, comment: bytes, *, first: bool, packed: bool
) -> None:
    path = wheel(tmp_path / "a.whl", members, first=first, comment=comment, packed=packed)
    assert read_member(path, is_record) == TEXT
    assert read_member(path, lambda name: name.endswith("WHEEL")) is None


def test_entries_before_the_last_are_not_looked_at(tmp_path: Path) -> None:
    seen: list[str] = []

    def note(name: str) -> bool:
        seen.append(name)
        return is_record(name)

    path = wheel(tmp_path / "a.whl", 3000)
    assert read_member(path, note) == TEXT
    assert len(seen) < 1500


def test_a_directory_that_only_a_full_reader_understands_is_read_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 10)  # more entries make a zip64 file
    assert read_member(wheel(tmp_path / "a.whl", 50), is_record) == TEXT


@given(st.binary(max_size=200))
def test_what_is_no_wheel_is_refused_as_by_the_standard_library(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("broken") / "a.whl"
    path.write_bytes(data)
    try:
        with zipfile.ZipFile(path):
            return  # an empty one
    except zipfile.BadZipFile:
        with pytest.raises(zipfile.BadZipFile):
            local_end.read_member(path, is_record)
