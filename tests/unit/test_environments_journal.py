"""The journal of a change: only what gpuenv made is ever removed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.environments import transaction as apply
from gpuenv.environments.journal import parse_journal, undo_or_finish, write_journal
from gpuenv.model.errors import UsageError
from gpuenv.on_disk.directories import identity_of
from gpuenv.on_disk.journal import Journal, new_journal, render_journal
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore


@pytest.fixture
def place(tmp_path: Path) -> EnvironmentPaths:
    path = tmp_path / "data" / "envs" / "paper"
    path.parent.mkdir(parents=True)
    return EnvironmentPaths(EnvironmentStore(tmp_path / "data"), "paper", path)


def journal() -> Journal:
    return new_journal(Path("/data/envs/paper"), replaces=True)


@given(
    st.sampled_from(["building", "committed"]),
    st.none() | st.tuples(st.integers(), st.integers()),
    st.booleans(),
    st.booleans(),
)
def test_what_is_written_is_read_again(state: Any, identity: Any, marked: bool, replaces: bool) -> None:
    written = replace(journal(), state=state, identity=identity, marked=marked)
    written = written if replaces else replace(written, old=None)
    assert parse_journal(render_journal(written)) == written


@given(st.text(max_size=50) | st.sampled_from(["[" * 100_000, "{}", "null", "[]", "1"]))
def test_any_other_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_journal(text)


@pytest.mark.parametrize(
    "change",
    [
        {"trash": "/home/me"}, {"old": "/data/envs/other"}, {"trash": "/etc/.paper.gpuenv-new-1"},
        {"path": "paper", "old": None, "trash": ".paper.gpuenv-new-1"}, {"state": "x"}, {"identity": 3},
        {"path": 3}, {"identity": ["a", "b"]}, {"identity": []},
    ],
)  # fmt: skip
def test_a_journal_that_would_remove_something_else_is_a_value_error(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_journal(json.dumps({**json.loads(render_journal(journal())), **change}))


def test_a_directory_that_is_not_ours_stays(place: EnvironmentPaths) -> None:
    write_journal(place, left := replace(new_journal(place.path, replaces=False), identity=(1, 2)))
    place.path.mkdir()
    (place.path / "thesis.tex").touch()
    undo_or_finish(place, left)
    assert (place.path / "thesis.tex").exists()
    assert not place.journal.exists()


def test_a_marked_directory_without_its_marker_stays(place: EnvironmentPaths) -> None:
    place.path.mkdir()
    (place.path / "thesis.tex").touch()
    mine = replace(new_journal(place.path, replaces=False), identity=identity_of(place.path), marked=True)
    write_journal(place, mine)
    undo_or_finish(place, mine)
    assert (place.path / "thesis.tex").exists()


def test_what_lies_in_the_way_of_the_old_one_is_named_and_stays(place: EnvironmentPaths) -> None:
    place.path.mkdir()
    write_journal(place, left := new_journal(place.path, replaces=True))
    assert left.old is not None
    place.path.rename(left.old)
    place.path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        apply.recover(place)
    assert raised.value.code == "recovery-blocked"
    place.path.unlink()
    assert apply.recover(place)
    assert place.path.is_dir()


def test_a_journal_that_can_not_be_read_is_told(place: EnvironmentPaths) -> None:
    place.store.journals.mkdir()
    place.journal.write_text("{", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        apply.recover(place)
    assert raised.value.code == "journal-unreadable"


def test_undoing_twice_does_no_harm(place: EnvironmentPaths) -> None:
    place.path.mkdir()
    (place.path / "pyvenv.cfg").touch()
    with apply.changing(place, force=True) as change:
        change.roll_back()
        change.roll_back()
    assert (place.path / "pyvenv.cfg").exists()
