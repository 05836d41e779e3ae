"""What files of an environment say at another path."""

from __future__ import annotations

import ast

import pytest

from gpuenv.environments.rewrite_paths import (
    Move,
    moved_path,
    relocated,
    relocated_activation,
    relocated_configuration,
    relocated_record,
)

TO_B = Move(("/envs/a",), "/envs/b", ("a", "b"))
TO_BLANK = Move(("/envs/a",), "/my envs/b", ("a", "b"))
LONG = "/" + "long/" * 30 + "b"


def test_a_path_moves_only_from_within() -> None:
    assert moved_path("/envs/a/bin/x", TO_B) == "/envs/b/bin/x"
    assert moved_path("/envs/a", TO_B) == "/envs/b"
    assert moved_path("/envs/ab", TO_B) is None
    assert moved_path("/usr/bin/python", TO_B) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x=/envs/a:", "x=/envs/b:"),
        ("/envs/a.\n", "/envs/b.\n"),
        ("file:///envs/a/src", "file:///envs/b/src"),
        ("/envs/ab /envs/a-b /envs/a.bak /mnt/envs/a", "/envs/ab /envs/a-b /envs/a.bak /mnt/envs/a"),
    ],
)
def test_names_that_only_begin_alike_stay(before: str, after: str) -> None:
    assert relocated(before.encode(), TO_B) == after.encode()


def test_a_path_in_a_url_or_in_json_is_found() -> None:
    move = Move(("/my envs/ä",), "/envs/b", ("ä", "b"))
    assert relocated(b'{"url": "file:///my%20envs/%C3%A4/src"}', move) == b'{"url": "file:///envs/b/src"}'
    assert relocated(b'{"argv": ["/my envs/\\u00e4/bin"]}', move) == b'{"argv": ["/envs/b/bin"]}'


@pytest.mark.parametrize("target", ["/my envs/b", LONG])
def test_a_shebang_goes_through_sh_where_the_system_can_not_read_it_and_back(target: str) -> None:
    there = Move(("/envs/a",), target, ("a", "b"))
    back = Move((target,), "/envs/a", ("b", "a"))
    script = b"#!/envs/a/bin/python -Es\nimport sys\n"
    moved = relocated(script, there)
    assert moved.startswith(b"#!/bin/sh\n'''exec' ")
    assert f"{target}/bin/python".encode() in moved
    ast.parse(moved)
    assert relocated(moved, back) == script


def test_pips_way_to_quote_an_interpreter_is_read() -> None:
    script = b"#!/bin/sh\n'''exec' \"/my envs/b/bin/python\" \"$0\" \"$@\"\n' '''\nrest\n"
    assert relocated(script, Move(("/my envs/b",), "/envs/a", ("b", "a"))) == b"#!/envs/a/bin/python\nrest\n"


def test_only_the_first_line_of_what_is_no_text_changes() -> None:
    archive = b"PK\0\3 /envs/a/x"
    assert relocated(b"#!/envs/a/bin/python\n" + archive, TO_B) == b"#!/envs/b/bin/python\n" + archive
    assert relocated(b"#!/usr/bin/python\n" + archive, TO_B) == b"#!/usr/bin/python\n" + archive


def test_an_activation_script_is_quoted_where_it_has_to_be_and_shows_the_new_name() -> None:
    bare = b'VIRTUAL_ENV=/envs/a\nexport VIRTUAL_ENV\nPS1="(a) ${PS1:-}"\nVIRTUAL_ENV_PROMPT="a"\n'
    expected = b'VIRTUAL_ENV=\'/my envs/b\'\nexport VIRTUAL_ENV\nPS1="(b) ${PS1:-}"\nVIRTUAL_ENV_PROMPT="b"\n'
    assert relocated_activation(bare, TO_BLANK) == expected
    assert relocated_activation(b"set -gx VIRTUAL_ENV '/envs/a'\n", TO_BLANK) == (
        b"set -gx VIRTUAL_ENV '/my envs/b'\n"
    )
    assert relocated_activation(b"(a) stays\n", TO_B) == b"(a) stays\n"


def test_a_prompt_of_the_users_own_stays() -> None:
    text = b"home = /usr/bin\nprompt = mine\ncommand = python -m venv /envs/a\n"
    assert relocated_configuration(text, TO_B) == text.replace(b"/envs/a", b"/envs/b")
    assert relocated_configuration(b"prompt = 'a'\n", TO_B) == b"prompt = 'b'\n"


def test_a_record_has_the_hashes_of_what_was_rewritten() -> None:
    text = '../../../bin/x,sha256=old,1\n"a,b.py",sha256=kept,2\nx/RECORD,,\n'
    new = relocated_record(text, {"../../../bin/x": b"abc"})
    assert new.splitlines() == [
        "../../../bin/x,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3",
        '"a,b.py",sha256=kept,2',
        "x/RECORD,,",
    ]
    assert relocated_record(text, {"../../../bin/y": b"abc"}) == text
