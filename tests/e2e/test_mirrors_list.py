"""`gpuenv mirrors list` and `matrix show mirrors`: which mirrors there are, the user's own among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Program

LAB = """
[[mirror]]
name = "lab"
aliases = ["ours"]
pypi = {simple = "https://mirror.lab.example/simple/"}
torch = {address = "https://mirror.lab.example/whl/{variant}/", layout = "flat"}
"""
OURS = (
    LAB
    + """
[[mirror]]
name = "nju"
pypi = {simple = "https://cache.lab.example/nju/simple"}
"""
)


def configured(program: Program, text: str) -> Path:
    file = program.home / ".config" / "gpuenv" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return file


def names(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines()]


def test_the_mirrors_are_listed_the_retired_ones_last(program: Program) -> None:
    done = program.run("mirrors", "list")
    assert (done.status, done.err) == (0, "")
    head, *rows = done.out.splitlines()
    assert head.split() == ["name", "status", "pypi", "torch", "conda", "title"]
    assert rows[0].split()[:5] == ["official", "alive", "yes", "pep503", "yes"]
    assert {"tuna", "nju", "aliyun", "sjtu", "cernet", "huawei", "nvidia"} <= set(names(done.out))
    dead = [row.split()[1] == "retired" for row in rows]
    assert dead == sorted(dead)
    assert any(dead)


def test_their_faults_are_told_with_their_sources(program: Program) -> None:
    said = program.run("mirrors", "list", "-v").out
    assert "sjtu: " in said
    assert said.startswith(program.run("mirrors", "list").out)


def test_the_list_has_all_that_is_known_as_json(program: Program) -> None:
    rows = {row["name"]: row for row in program.run("mirrors", "list", "--json").data["mirrors"]}
    assert rows["official"]["torch"]["address"].startswith("https://")
    assert rows["tuna"]["torch"] is None
    assert rows["douban"]["status"] == "retired"
    assert not any(row["own"] for row in rows.values())


def test_a_users_own_mirrors_stand_first_and_say_where_they_are_from(program: Program) -> None:
    file = configured(program, OURS)
    done = program.run("mirrors", "list")
    assert names(done.out)[1:3] == ["lab", "nju"]
    assert names(done.out).count("nju") == 1
    assert done.out.count(str(file)) == 2
    lab, nju = program.run("mirrors", "list", "--json").data["mirrors"][:2]
    assert (lab["own"], lab["kind"], lab["aliases"]) == (True, "own", ["ours"])
    assert lab["torch"]["address"] == "https://mirror.lab.example/whl/{variant}"
    assert (nju["own"], nju["kind"], nju["torch"]) == (True, "university", None)


def test_a_named_file_goes_before_the_usual_one(program: Program) -> None:
    configured(program, OURS)
    (program.home / "own.toml").write_text(LAB, encoding="utf-8")
    data = program.with_(GPUENV_CONFIG="~/own.toml").run("mirrors", "list", "--json").data
    assert [row["name"] for row in data["mirrors"] if row["own"]] == ["lab"]


@pytest.mark.parametrize("text", ["[[mirror", LAB + LAB, LAB.replace("ours", "tuna")])
@pytest.mark.parametrize("command", [("list",), ("use", "lab"), ("reset",)])
def test_a_garbled_file_is_told_under_the_commands_own_name(
    program: Program, text: str, command: tuple[str, ...]
) -> None:
    file = configured(program, text)
    done = program.run("mirrors", *command, "--json")
    if command == ("reset",):  # it needs no mirror: what was kept is brought back
        assert done.status == 0
        return
    assert done.status == 2
    assert done.envelope["command"] == f"mirrors {command[0]}"
    assert done.error["code"] == "bad-configuration"
    assert str(file) in done.error["message"]
    assert done.error["fixes"]


def test_the_matrix_of_mirrors_is_shown(program: Program) -> None:
    done = program.run("matrix", "show", "mirrors")
    assert done.status == 0
    assert names(done.out)[:2] == ["name", "official"]
    data = program.run("matrix", "show", "mirrors", "--json").data
    assert data["table"] == "mirrors"
    assert all(row["source"] for row in data["rows"])
    assert "mirrors" in program.run("matrix", "show", "mirror").err
