"""A torch wheel on disk is opened once, and again when it is another file."""

from __future__ import annotations

import json
import os
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuenv.wheels.known_variants import FILE, KnownVariants

_opened: list[str] = []
sys.addaudithook(lambda event, args: _opened.append(str(args[0])) if event == "open" else None)


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a file that was written just now be an old one."""
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 60)
    return iter(())


def wheel(path: Path, cuda: str = "12.6") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch/version.py", f"cuda = '{cuda}'\n")
    return path


def read(path: Path, cache: Path) -> tuple[str, bool]:
    """Return the variant, and whether the wheel was opened."""
    _opened.clear()
    variant = KnownVariants(cache).read(path)
    return str(variant), str(path) in _opened


def test_a_wheel_is_opened_once(tmp_path: Path) -> None:
    made = wheel(tmp_path / "torch.whl")
    other = wheel(tmp_path / "other.whl", "11.8")
    assert [read(made, tmp_path), read(other, tmp_path)] == [("cu126", True), ("cu118", True)]
    assert [read(made, tmp_path), read(other, tmp_path)] == [("cu126", False), ("cu118", False)]


def test_a_wheel_that_was_replaced_is_opened_again(tmp_path: Path) -> None:
    """Also by one of the same size and time."""
    made = wheel(tmp_path / "torch.whl")
    read(made, tmp_path)
    status = made.stat()
    wheel(made, "11.8")
    os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (made.stat().st_size, made.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert read(made, tmp_path) == ("cu118", True)
    other = wheel(tmp_path / "new.whl", "12.8")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(made)
    assert read(made, tmp_path) == ("cu128", True)


def test_a_wheel_that_was_written_just_now_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be written again within one tick of the file system's clock."""
    made = wheel(tmp_path / "torch.whl")
    monkeypatch.setattr(time, "time", lambda: made.stat().st_mtime + 0.1)
    assert [read(made, tmp_path), read(made, tmp_path)] == [("cu126", True)] * 2


@pytest.mark.parametrize(
    "content", ["", "[]", "{", "\0", '{"PATH": 1}', '{"PATH": [[1], "cu999"]}', '{"PATH": [null, 3]}']
)
def test_a_damaged_file_is_as_none(tmp_path: Path, content: str) -> None:
    made = wheel(tmp_path / "torch.whl")
    (tmp_path / FILE).write_text(content.replace('"PATH"', json.dumps(str(made))))
    assert [read(made, tmp_path), read(made, tmp_path)] == [("cu126", True), ("cu126", False)]


def test_a_cache_that_can_not_be_written_does_no_harm(tmp_path: Path) -> None:
    made = wheel(tmp_path / "torch.whl")
    assert [read(made, made), read(made, made)] == [("cu126", True)] * 2


def test_what_is_no_wheel_is_not_remembered(tmp_path: Path) -> None:
    made = tmp_path / "torch.whl"
    made.write_bytes(b"no zip")
    with pytest.raises(ValueError, match="not a readable wheel"):
        read(made, tmp_path)
    assert not (tmp_path / FILE).exists()
