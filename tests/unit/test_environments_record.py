"""The record inside an environment: what is written is read again; anything else is a ValueError."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.environments.record import Record, parse_record, read_record, render_record, write_record
from gpuenv.on_disk.places import RECORD
from gpuenv.on_disk.replace import replace_file

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_object = st.dictionaries(st.text(max_size=5), _json, max_size=3)
PAPER = Record(
    "paper", "2026-11-20T10:00:00+00:00", "uv", {"packages": [{"name": "torch", "version": "1"}, 3]}
)


_optional = st.none() | _object


@given(
    st.builds(
        Record, st.text(), st.text(), st.text(), _object, _optional, _optional, st.none() | st.booleans()
    )
)
def test_what_is_written_is_read_again(record: Record) -> None:
    assert parse_record(render_record(record)) == record


@given(
    _json | st.fixed_dictionaries({"schema_version": st.just(1), "state": st.just("complete"), "name": _json})
)
def test_other_json_is_a_value_error(document: Any) -> None:
    with pytest.raises(ValueError, match="record"):
        parse_record(json.dumps(document))


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 2}, {"state": "building"}, {"verified": "yes"}, {"verified": 1}, {"plan": []},
        {"verify": 1}, {"machine": []}, {"name": None},
    ],
)  # fmt: skip
def test_a_field_of_the_wrong_kind_is_a_value_error(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="record"):
        parse_record(json.dumps({**json.loads(render_record(PAPER)), **change}))


@given(st.text(max_size=100))
def test_any_text_is_a_record_or_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_record(text)


def test_deep_nesting_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"nested|Expecting"):
        parse_record("[" * 100_000)


def test_passwords_in_addresses_are_not_kept() -> None:
    plan = {
        "steps": [{"argv": ["--index-url", "https://me:secret@index.example.com/simple"]}],
        "git": "git@host:x",
    }
    text = render_record(Record("p", "", "uv", plan))
    assert "secret" not in text
    assert "https://****@index.example.com/simple" in text
    assert "git@host:x" in text


def test_the_plan_can_be_asked_whatever_it_holds() -> None:
    assert PAPER.package("torch") == {"name": "torch", "version": "1"}
    assert PAPER.package("numpy") is None
    assert Record("p", "", "uv", {"packages": 3}).package("torch") is None
    assert Record("p", "", "uv", {"variant": 3}).planned("variant") is None


def test_a_record_that_can_not_be_read_says_so_in_an_environment(tmp_path: Path) -> None:
    assert read_record(tmp_path) is None
    (tmp_path / RECORD).write_bytes(b"\xff\xfe")
    assert read_record(tmp_path) is None  # no environment: the file is something else's
    (tmp_path / "pyvenv.cfg").touch()
    damaged = read_record(tmp_path)
    assert damaged is not None
    assert damaged.problem
    write_record(tmp_path, PAPER)
    assert read_record(tmp_path) == PAPER


def test_a_file_that_can_not_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "y").touch()
    with pytest.raises(OSError, match=r"."):
        replace_file(tmp_path / "x", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
