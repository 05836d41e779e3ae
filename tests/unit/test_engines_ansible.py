"""What Ansible tells, read; and the files that it is given."""

from __future__ import annotations

import ast
import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpuenv.fleet.engines.ansible import MODULE
from gpuenv.fleet.engines.ansible_events import last_words, parse_event, parse_host_list, plain
from gpuenv.fleet.render.ansible import GroupPlay, render_module, render_playbook, render_request, render_task
from gpuenv.fleet.run_model import HostResult
from gpuenv.model.errors import UsageError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
EVENTS = ("runner_on_start", "runner_on_ok", "runner_on_failed", "runner_on_unreachable", "runner_on_skipped")


def event(name: str, **told: Any) -> dict[str, Any]:
    return {"event": name, "event_data": {"host": "gpu1", "res": told}}


@given(st.lists(st.from_regex(r"[a-z0-9][a-z0-9.:_-]*", fullmatch=True), max_size=5, unique=True))
def test_hosts_are_read_as_they_are_listed(names: list[str]) -> None:
    text = "\n".join([f"  hosts ({len(names)}):", *(f"    {name}" for name in names)])
    assert parse_host_list(f"\x1b[1;35m[WARNING]: one\x1b[0m\n{text}\n") == tuple(names)


@given(st.text())
def test_what_is_no_list_of_hosts_is_a_value_error_or_a_list(text: str) -> None:
    with suppress(ValueError):
        assert all(parse_host_list(text))


@pytest.mark.parametrize("text", ["", "usage: ansible", "  hosts (2):\n    one\n", "hosts (x):\n"])
def test_a_list_that_is_not_whole_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no list of hosts"):
        parse_host_list(text)


def test_a_host_that_answered_is_done_whatever_it_answered() -> None:
    answer = {"ok": False, "error": {"message": "no"}}
    for name in ("runner_on_ok", "runner_on_failed"):
        assert parse_event(event(name, answer=answer, msg="no")) == HostResult("gpu1", "done", answer)


def test_a_host_without_an_answer_failed_in_ansibles_words_and_those_of_its_python() -> None:
    result = parse_event(
        event("runner_on_failed", msg="MODULE FAILURE", module_stderr="a\nNo module named 'json'\n")
    )
    assert result == HostResult("gpu1", "failed", None, "MODULE FAILURE\na\nNo module named 'json'")


def test_an_unreachable_host_is_told_apart() -> None:
    result = parse_event(event("runner_on_unreachable", msg="Failed to connect: \x1b[31mConnection refused"))
    assert result == HostResult("gpu1", "unreachable", None, "Failed to connect: Connection refused")


@pytest.mark.parametrize("name", ["runner_on_skipped", "playbook_on_start", "verbose"])
def test_other_events_change_no_hosts_state(name: str) -> None:
    assert parse_event(event(name)) is None


@given(st.sampled_from(EVENTS), JSON, JSON)
def test_no_event_stops_the_others(name: str, host: object, told: object) -> None:
    result = parse_event({"event": name, "event_data": {"host": host, "res": told}})
    assert result is None or result.host == host
    assert parse_event({"event": name, "event_data": told}) is None or isinstance(told, dict)


@given(st.text())
def test_what_is_shown_prints_and_is_not_long(text: str) -> None:
    shown = plain(text)
    assert len(shown) <= 4000
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


def test_the_errors_are_the_last_words_else_the_last_lines() -> None:
    assert last_words("PLAY [x]\nERROR! no such module\nit was not found\n") == (
        "ERROR! no such module\nit was not found"
    )
    assert last_words("[WARNING]: nothing") == "[WARNING]: nothing"
    assert last_words("") == ""


def test_the_module_carries_the_program_and_is_python_of_the_nodes() -> None:
    program = bytes(range(256)) * 9
    text = render_module(MODULE.read_text(encoding="utf-8"), program)
    tree = ast.parse(text, feature_version=(3, 8))
    (carried,) = (
        node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PROGRAM"
        if isinstance(node.value, ast.Constant)
    )
    assert base64.b64decode(str(carried)) == program


@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_a_request_is_read_back_and_is_long_enough_to_be_hidden(request: dict[str, Any]) -> None:
    text = render_request(request)
    assert json.loads(text) == request
    assert len(text) >= 64


PLAYS = st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]*", fullmatch=True), max_size=4)


@given(st.lists(PLAYS, min_size=1, max_size=3), st.text(max_size=20))
def test_a_playbook_names_each_groups_hosts_whatever_is_said_about_it(
    groups: list[list[str]], about: str
) -> None:
    assume(not {"all", "ungrouped"} & {host for hosts in groups for host in hosts})
    plays = [GroupPlay(tuple(hosts), f"locks/{number}.json", (about,)) for number, hosts in enumerate(groups)]
    document = YAML(typ="safe").load(render_playbook(plays, "torch"))
    named = [play["hosts"] if isinstance(play["hosts"], list) else [] for play in document]
    assert named == groups
    for number, play in enumerate(document):
        make, prove = play["tasks"]
        assert f"/locks/{number}.json'" in make["gpuenv_node"]["request"]
        assert (make["tags"], prove["tags"]) == (["create"], ["verify"])


@given(st.text(max_size=12))
def test_a_host_is_named_as_it_is_or_refused(host: str) -> None:
    """No pattern, and no template, gets into a playbook."""
    try:
        text = render_playbook([GroupPlay((host,), "locks/1.json", ())], "torch")
    except UsageError:
        return
    assert not set(host) & set("{}[]:,!&*~@'\"\\ \n")
    assert YAML(typ="safe").load(text)[0]["hosts"] == [host]


def test_a_hosts_limit_leaves_time_to_connect() -> None:
    assert "seconds: 0" in render_task("detect", 0)
    assert "timeout: 0" in render_task("detect", 0)
    assert "seconds: 90" in render_task("create", 90)
    assert "timeout: 150" in render_task("create", 90)


def test_the_module_is_where_it_is_looked_for() -> None:
    assert Path(MODULE).is_file()
