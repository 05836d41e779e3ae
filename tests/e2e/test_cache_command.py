"""`cache` shows and removes what gpuenv keeps, and nothing else; `self version` asks only where told to."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_torch, tiny_wheel

PLAN = ("plan", "torch==2.14.1", "--cuda", "cpu")
DIGEST = "ab" * 32


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    server.publish(tiny_torch(tmp_path_factory.mktemp("wheels"), "2.14.1+cpu"), "pytorch", "cpu")


@pytest.fixture
def cache(program: Program) -> Path:
    return program.root / "cache"


def store(cache: Path, size: int = 5000) -> Path:
    """Put a wheel where gpuenv keeps those it fetched."""
    wheel = cache / "wheels" / DIGEST / "torch-2.14.1-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"x" * size)
    return wheel


@pytest.mark.slow
def test_what_commands_keep_is_listed_and_removed(
    program: Program, mirrors: tuple[str, ...], cache: Path
) -> None:
    assert program.run(*PLAN, *mirrors).status == 0
    wheel = store(cache)
    assert program.run("cache", "dir").out == f"{cache}\n"
    (cache / "private").mkdir(exist_ok=True)
    (cache / "private" / "tmpab_cd123.toml").write_text("left by a kill")
    answer = program.run("cache", "size", "--json").data
    sizes = {part["name"]: part["size"] for part in answer["parts"]}
    assert sizes["wheels"] == 5000
    assert sizes["pages"] > 0
    assert answer["size"] == sum(sizes.values()) == answer["freed"]
    shown = program.run("cache", "size")
    assert "wheels" in shown.out
    assert "5 kB" in shown.out
    assert f"uv's own cache, shared with uv, is not included: {program.environ['XDG_CACHE_HOME']}" in (
        shown.err
    )
    assert program.run("cache", "clean", "--json").error["code"] == "no-terminal"
    assert wheel.exists()
    done = program.run("cache", "clean", "--yes", "--json")
    assert {part["name"] for part in done.data["removed"]} == sizes.keys()
    assert done.data["kept"] == []
    assert list(cache.iterdir()) == []
    again = program.run("cache", "clean")
    assert (again.status, again.err) == (0, f"nothing to remove in {cache}\n")
    assert program.run(*PLAN, *mirrors).status == 0


def test_what_is_not_gpuenvs_stays(program: Program, cache: Path) -> None:
    """GPUENV_CACHE_DIR may be a folder of the user's with files of such names; links are not followed."""
    store(cache)
    own = [cache / name for name in ("notes.txt", "wheels/mine.whl", "uv/mine", "http/page", "empty/data")]
    elsewhere = program.root / "elsewhere" / "a.json"
    for path in (*own, elsewhere):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    (cache / "channels").symlink_to(elsewhere.parent)
    answer = program.run("cache", "clean", "--yes", "--json").data
    assert [part["name"] for part in answer["removed"]] == ["wheels"]
    assert not (cache / "wheels" / DIGEST).exists()
    assert all(path.read_text() == "mine" for path in (*own, elsewhere))


def test_uvs_own_cache_is_only_emptied_where_that_is_said(program: Program, cache: Path) -> None:
    """Also where it lies in gpuenv's."""
    for location in (program.root / "uv-cache", cache / "uv"):
        uv = program.with_(UV_CACHE_DIR=str(location))
        kept = location / "archive-v0" / "x" / "file"
        kept.parent.mkdir(parents=True)
        kept.write_text("uv's")
        answer = uv.run("cache", "size", "--json").data
        assert answer["uv"]["dir"] == str(location)
        assert answer["uv"]["size"] >= 4
        assert uv.run("cache", "clean", "--yes").status == 0
        assert kept.exists()
        done = uv.run("cache", "clean", "--yes", "--uv", "--json")
        assert done.status == 0, done.err
        assert done.data["uv"]["dir"] == str(location)
        assert not kept.exists()


def test_a_file_of_two_names_counts_once(program: Program, cache: Path) -> None:
    """What an environment has as well is not freed."""
    wheel = store(cache)
    os.link(wheel, wheel.with_name("again.whl"))
    answer = program.run("cache", "size", "--json").data
    assert (answer["size"], answer["freed"]) == (5000, 5000)
    os.link(wheel, program.root / "in-an-environment")
    answer = program.run("cache", "size", "--json").data
    assert (answer["size"], answer["freed"]) == (5000, 0)


def test_what_a_running_command_uses_stays(
    program: Program, mirrors: tuple[str, ...], server: IndexServer, cache: Path
) -> None:
    """Its wheels and configuration; pages go, as it has read them whole. With its end they go as well."""
    assert program.run(*PLAN, *mirrors).status == 0
    wheel = store(cache)
    code = "from gpuenv.process.surroundings import empty_folder as f; print(f(), flush=True); input()"
    using = subprocess.Popen(
        [sys.executable, "-c", code], env=program.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with using:
        assert using.stdout is not None
        assert using.stdout.readline().strip() == str(cache / "empty").encode()
        done = program.run("cache", "clean", "--yes", "--json")
        assert done.status == 0
        assert {"name": "wheels", "reason": "in-use"} in done.data["kept"]
        assert [part["name"] for part in done.data["removed"]] == ["pages"]
        assert done.envelope["warnings"][0]["code"] == "in-use"
        assert wheel.exists()
        assert (cache / "empty").is_dir()
        using.kill()
    assert program.run("cache", "clean", "--yes").status == 0
    assert list(cache.iterdir()) == []


def test_a_no_removes_nothing_and_what_an_interruption_left_goes_the_next_time(
    program: Program, cache: Path
) -> None:
    wheel = store(cache)
    left = cache / "removing-abc"
    left.mkdir()
    ours, theirs = pty.openpty()
    process = program.start("cache", "clean", stdin=theirs, start_new_session=True)
    os.write(ours, b"n\n")
    _, err = process.communicate(timeout=30)
    assert "remove 5 kB?" in err
    assert wheel.exists()
    process = program.start("cache", "clean", stdin=theirs, start_new_session=True)
    assert process.stderr is not None
    while "[y/N]" not in "".join(iter(lambda: process.stderr.read(1), "]")) + "]":
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert wheel.exists()
    os.close(ours)
    os.close(theirs)
    assert program.run("cache", "clean", "--yes").status == 0
    assert list(cache.iterdir()) == []


def test_a_cache_that_is_not_there_is_empty(program: Program) -> None:
    gone = program.with_(GPUENV_CACHE_DIR=str(program.root / "nowhere" / "cache"))
    assert gone.run("cache", "dir", "--json").data["exists"] is False
    assert gone.run("cache", "size", "--json").data["parts"] == []
    assert gone.run("cache", "clean").status == 0


def test_the_version_asks_no_index_unless_it_is_told_to(
    program: Program, server: IndexServer, tmp_path: Path
) -> None:
    plain = program.run("self", "version")
    assert plain.out == program.run("--version").out
    assert server.asked == []
    mine = program.with_(PIP_INDEX_URL=server.pypi)
    assert "gpuenv is not listed on " in mine.run("self", "version", "--check").err
    dead = program.with_(PIP_INDEX_URL="http://127.0.0.1:1/simple")
    done = dead.run("self", "version", "--check")
    assert done.status == 0
    assert "cannot check for a newer version" in done.err
    assert dead.run("self", "version", "--check", "--json").data["newer"] is None
    server.publish(tiny_wheel(tmp_path, "gpuenv", "99.0"), "pypi")
    newer = mine.run("self", "version", "--check", "--json").data
    assert (newer["newest"], newer["newer"]) == ("99.0", True)
    assert "check who published it before you install it" in mine.run("self", "version", "--check").err
