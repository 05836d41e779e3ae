"""What only its user may read is closed from the moment it exists, whatever the umask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuenv.files.private import append_private, make_private_folder, write_private

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")


@pytest.fixture(autouse=True, params=[0o000, 0o022])
def mask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_files_are_made_with_their_mode(tmp_path: Path) -> None:
    for number, write in enumerate(
        (lambda it: append_private(it).close(), lambda it: write_private(it, "x"))
    ):
        write(tmp_path / str(number))
        assert mode(tmp_path / str(number)) == 0o600


def test_a_folder_is_closed_and_one_that_is_there_stays(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "new" / "logs")
    assert mode(tmp_path / "new" / "logs") == 0o700
    open_one = tmp_path / "open"
    open_one.mkdir()
    open_one.chmod(0o755)
    make_private_folder(open_one)
    assert mode(open_one) == 0o755


def test_in_a_folder_of_a_group_it_is_the_groups(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    if not shared.stat().st_mode & 0o2000:
        pytest.skip("this file system has no setgid")
    os.umask(0o002)
    make_private_folder(shared / "locks")
    assert mode(shared / "locks") == 0o775
