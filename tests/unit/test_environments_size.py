"""The size of an environment: links count once, and what was counted stays until something is installed."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

import pytest

from gpuenv.environments.contents.size import count_bytes, environment_size
from gpuenv.inspection.list_facts import ago
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore

NOW = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)


@pytest.fixture
def place(tmp_path: Path) -> EnvironmentPaths:
    root = tmp_path / "envs" / "paper"
    packages = root / "lib" / "python3.12" / "site-packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "a.so").write_bytes(b"x" * 1000)
    return EnvironmentPaths(EnvironmentStore(tmp_path), "paper", root)


def test_a_file_with_several_links_counts_once_and_links_are_not_followed(
    place: EnvironmentPaths, tmp_path: Path
) -> None:
    torch = place.path / "lib/python3.12/site-packages/torch"
    os.link(torch / "a.so", torch / "b.so")
    (tmp_path / "large").write_bytes(b"x" * 50_000)
    (torch / "c.so").symlink_to(tmp_path / "large")
    assert 1000 <= count_bytes(place.path) < 2000


def test_what_was_counted_is_kept_until_something_is_installed(
    place: EnvironmentPaths, tmp_path: Path
) -> None:
    packages = place.path / "lib/python3.12/site-packages"
    assert environment_size(place, tmp_path / "cache") == 1000
    (packages / "torch" / "b.so").write_bytes(b"x" * 10)
    assert environment_size(place, tmp_path / "cache") == 1000
    assert environment_size(place, None) == 1010
    (packages / "numpy").mkdir()
    assert environment_size(place, tmp_path / "cache") == 1010


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stamps": 3, "size": 4}', "[" * 5000, "\x00"])
def test_a_damaged_note_is_counted_anew(place: EnvironmentPaths, tmp_path: Path, text: str) -> None:
    environment_size(place, tmp_path / "cache")
    (note,) = (tmp_path / "cache" / "sizes").iterdir()
    note.write_text(text)
    assert environment_size(place, tmp_path / "cache") == 1000


def test_where_nothing_can_be_kept_it_is_counted_all_the_same(
    place: EnvironmentPaths, tmp_path: Path
) -> None:
    (tmp_path / "cache").touch()
    assert environment_size(place, tmp_path / "cache") == 1000
    assert environment_size(EnvironmentPaths(place.store, "none", tmp_path / "none"), None) is None


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("2026-11-22T11:59:30+00:00", "just now"),
        ("2026-11-22T11:20:00+00:00", "40 min ago"),
        ("2026-11-22T02:00:00+00:00", "10 h ago"),
        ("2026-11-01T12:00:00+00:00", "21 d ago"),
        ("2027-01-01T00:00:00+00:00", "just now"),
        ("2026-11-22T11:59:30", None),
        ("yesterday", None),
        (None, None),
        (3, None),
    ],
)
def test_how_long_ago_is_said_in_the_largest_unit(moment: object, said: str | None) -> None:
    assert ago(moment, NOW) == said
