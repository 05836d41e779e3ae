"""No password of an index is shared or shown, or stands where others on the machine can read it."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from guarded_index import PASSWORD, with_login, write
from index_server import IndexServer
from running import Done, Program

PIP = pytest.mark.skipif(importlib.util.find_spec("ensurepip") is None, reason="this Python is no pip")


def torch_at(guarded: IndexServer) -> tuple[str, ...]:
    return ("torch==2.14.1", "mylib", "--cuda", "cpu", "--mirror", with_login(guarded.pytorch))


FILES = {
    "uv.toml": ("home/.config/uv/uv.toml", '[[index]]\nname = "inner"\nurl = "{url}"\ndefault = true\n'),
    "uv.toml-extra": ("home/.config/uv/uv.toml", '[[index]]\nurl = "{url}"\n[pip]\nindex-url = "{url}"\n'),
    "pip.conf": ("home/.config/pip/pip.conf", "[global]\nindex-url = {url}\nextra-index-url = {url}\n"),
    "config.toml": (
        "home/.config/gpuenv/config.toml",
        '[[mirror]]\nname = "ours"\n[mirror.pypi]\nsimple = "{url}"\n',
    ),
}
OPTIONS = {
    "mirror": ("--mirror", "{url}"),
    "find-links": ("--mirror", "{url}", "--find-links", "{url}/mylib/"),
    "config.toml": ("--mirror", "ours"),
}
VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "PIP_EXTRA_INDEX_URL", "UV_FIND_LINKS")
WAYS = tuple(dict.fromkeys((*FILES, *OPTIONS, *VARIABLES)))
EACH = (  # with pip, which takes longer, once for each kind of place
    *(("uv", way) for way in WAYS),
    *(
        pytest.param("pip", way, marks=PIP)
        for way in ("mirror", "find-links", "PIP_EXTRA_INDEX_URL", "pip.conf")
    ),
)


def configured(program: Program, guarded: IndexServer, way: str) -> tuple[Program, tuple[str, ...]]:
    """Name the index with its password in one of the ways; return the program and the options."""
    url = with_login(guarded.pypi)
    if way in FILES:
        path, text = FILES[way]
        write(program.root / path, text.format(url=url))
        program = program.with_(PIP_CONFIG_FILE=None)
    if way in VARIABLES:
        program = program.with_(**{"PIP_INDEX_URL": url, way: f"{url}/mylib/" if "LINKS" in way else url})
    options = (word.format(url=url) for word in OPTIONS.get(way, ()))
    return program, (*torch_at(guarded), *options)


def check_untold(done: Done) -> None:
    assert PASSWORD not in done.out
    assert PASSWORD not in done.err


def left_by_gpuenv(program: Program) -> Iterator[Path]:
    """Yield the files that gpuenv has written, but for what is the person's own."""
    for folder in ("data", "cache", "work", "tmp"):
        for path in (program.root / folder).rglob("*"):
            if path.is_file() and path.name != "config.toml":
                yield path


def check_no_file_tells(program: Program) -> None:
    for path in left_by_gpuenv(program):
        if PASSWORD.encode() in path.read_bytes():
            assert path.stat().st_mode & 0o777 == 0o600, path
            assert path.parent.stat().st_mode & 0o777 == 0o700, path
            assert path.is_relative_to(program.root / "cache"), path


@pytest.fixture
def recorded(program: Program) -> Program:
    """Return the program with a note of the arguments of every process that it starts."""
    hook = (
        "import sys, json\n"
        "def note(event, given):\n"
        "    if event == 'subprocess.Popen':\n"
        f"        with open({str(program.root / 'started')!r}, 'a') as sink:\n"
        "            sink.write(json.dumps([str(word) for word in given[1]]) + '\\n')\n"
        "sys.addaudithook(note)\n"
    )
    folder = program.root / "hook"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(hook, encoding="utf-8")
    before = program.environ.get("PYTHONPATH")
    return program.with_(PYTHONPATH=os.pathsep.join(filter(None, (str(folder), before))))


def started(program: Program) -> list[list[str]]:
    return [json.loads(line) for line in (program.root / "started").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("manager", "way"), EACH)
def test_create_installs_and_no_password_is_seen(
    recorded: Program, guarded: IndexServer, manager: str, way: str
) -> None:
    program, requested = configured(recorded, guarded, way)
    done = program.run("create", "paper", *requested, "--manager", manager, "--yes", "--json", "-v")
    assert done.status == 0, (done.out, done.err)
    check_untold(done)
    check_no_file_tells(program)
    commands = started(program)
    assert any("install" in words for words in commands)
    assert [words for words in commands if PASSWORD in " ".join(words)] == []
    assert (program.environments / "paper" / "gpuenv.json").exists()
