"""Files of hashes for installers: named by what is in them, written once, and always whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuenv.planning.hashes import keep_hashes

TEXT = "torch===3.0 --hash=sha256:5d1f\n"


def test_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    environ = {"GPUENV_CACHE_DIR": str(tmp_path)}
    before = keep_hashes(TEXT, environ).stat()
    after = keep_hashes(TEXT, environ).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("left", [b"", TEXT[:-9].encode(), b"\xff\xfe", TEXT.encode() * 2])
def test_another_text_under_its_name_is_replaced(tmp_path: Path, left: bytes) -> None:
    environ = {"GPUENV_CACHE_DIR": str(tmp_path)}
    path = keep_hashes(TEXT, environ)
    path.write_bytes(left)
    assert keep_hashes(TEXT, environ) == path
    assert path.read_text(encoding="utf-8") == TEXT
