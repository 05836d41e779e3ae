"""Last use is told by a file's time stamp, and noting it never fails."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

from gpuenv.environments.contents.last_use import FILE_NAME, last_used, mark_used


def test_what_was_never_used_tells_no_time(tmp_path: Path) -> None:
    assert last_used(tmp_path) is None
    assert last_used(tmp_path / "missing") is None


def test_each_use_is_noted(tmp_path: Path) -> None:
    mark_used(tmp_path)
    first = last_used(tmp_path)
    assert first is not None
    assert first.tzinfo is timezone.utc
    os.utime(tmp_path / FILE_NAME, (0, 0))
    assert last_used(tmp_path) == datetime.fromtimestamp(0, timezone.utc)
    mark_used(tmp_path)
    again = last_used(tmp_path)
    assert again is not None
    assert again >= first


def test_where_nothing_can_be_written_nothing_happens(tmp_path: Path) -> None:
    mark_used(tmp_path / "missing")
    (tmp_path / "file").write_text("", encoding="utf-8")
    mark_used(tmp_path / "file")
    (tmp_path / FILE_NAME).mkdir()
    mark_used(tmp_path)
