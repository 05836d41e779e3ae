"""Caches that another user owns, links, folders that can't be read: what is not removed is told, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from unprivileged import as_nobody, public_folder

from gpuenv.cache.parts import Tally, read_parts, remove_part
from gpuenv.files.cache_lock import LOCK_FILE, lock_exclusive, lock_shared, unlock

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and locks of POSIX")


def stored(cache: Path) -> Path:
    wheel = cache / "wheels" / ("ab" * 32) / "torch-2.14.1-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"x" * 5000)
    return wheel


def test_what_can_not_be_removed_is_told_and_stays() -> None:
    with public_folder() as cache:
        wheel = stored(cache)
        with as_nobody():
            if os.geteuid() == wheel.stat().st_uid:
                for folder in (cache, cache / "wheels"):
                    folder.chmod(0o555)
            (filled,) = read_parts(cache, Tally(), None)
            kept = remove_part(filled, cache)
        assert kept is not None
        assert "Permission denied" in kept.reason
        assert wheel.exists()


def test_a_folder_that_can_not_be_read_counts_nothing() -> None:
    with public_folder() as cache:
        stored(cache).parent.chmod(0)
        tally = Tally()
        with as_nobody():
            read_parts(cache, tally, None)
        assert tally.freed == 0


def test_who_cleans_is_alone_or_told_so(tmp_path: Path) -> None:
    """A process that comes while one cleans waits, and then holds the lock of a file that is there."""
    lock_shared(tmp_path)
    held = os.open(tmp_path / LOCK_FILE, os.O_RDWR)
    try:
        import fcntl  # noqa: PLC0415 - POSIX only

        with pytest.raises(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(held, fcntl.LOCK_SH)
        with lock_exclusive(tmp_path) as free:  # gives up its own
            assert not free
        assert (tmp_path / LOCK_FILE).exists()
        fcntl.flock(held, fcntl.LOCK_UN)
        with lock_exclusive(tmp_path) as free:
            assert free
        assert not (tmp_path / LOCK_FILE).exists()
        lock_shared(tmp_path)
        assert (tmp_path / LOCK_FILE).exists()
    finally:
        os.close(held)
        unlock()
