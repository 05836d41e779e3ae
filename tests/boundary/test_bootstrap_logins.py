"""The bootstrap script holds no password: what fetches reads those of the machine that it runs on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from index_server import IndexServer, serve_indexes
from tiny_wheels import tiny_wheel

from gpuenv import bootstrap as render
from gpuenv.bootstrap.render import TEMPLATE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the script is for Linux")

FETCHERS = ("curl", "wget", "python3")
PASSWORD = "hunter2-hunter2"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexServer]:
    with serve_indexes() as index:
        index.publish(tiny_wheel(tmp_path_factory.mktemp("wheels"), "tinydep", "1.0"), "pypi")
        index.logins = {"/": f"ada:{PASSWORD}"}
        yield index


def fetched(root: Path, guarded: IndexServer, fetcher: str, **variables: str) -> tuple[int, Path]:
    """Run the script's `fetch` with one of the programs; return its status and the file."""
    if not program_of(fetcher):
        pytest.skip(f"no {fetcher} here")
    programs = root / "bin"
    programs.mkdir()
    others = ("sh", "sed", "tail", "tr", "cat", "mv", "rm", "mkdir", "ln", "env")
    for name in (fetcher, *others):  # a link to a Python would not find its own files
        write_program(programs / name, f'#!/bin/sh\nexec {program_of(name)} "$@"\n')
    functions = (files(render) / TEMPLATE).read_text(encoding="utf-8").rpartition('main "$@"')[0]
    text = f'{functions}\nlanguage=en child=\'\' scratch=$1 log=$1/log\nfetch "$2" "$1/page"\n'
    (root / "fetch.sh").write_text(text, encoding="utf-8")
    scratch = root / "scratch"
    scratch.mkdir()
    home = root / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        ["/bin/sh", str(root / "fetch.sh"), str(scratch), f"{guarded.pypi}/tinydep/"],
        env={"PATH": str(programs), "HOME": str(home), **variables},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    log = scratch / "log"
    assert not log.exists() or PASSWORD not in log.read_text(encoding="utf-8")
    return done.returncode, scratch / "page"


def program_of(name: str) -> str | None:
    return sys.executable if name == "python3" else shutil.which(name)


def write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def write_netrc(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"machine 127.0.0.1 login ada password {PASSWORD}\n", encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("fetcher", FETCHERS)
@pytest.mark.parametrize("way", ["~/.netrc", "NETRC"])
def test_a_page_is_fetched_with_the_password_of_netrc(
    tmp_path: Path, guarded: IndexServer, fetcher: str, way: str
) -> None:
    file = write_netrc(tmp_path / ("home/.netrc" if way == "~/.netrc" else "elsewhere/logins"))
    variables = {} if way == "~/.netrc" else {"NETRC": str(file)}
    status, page = fetched(tmp_path, guarded, fetcher, **variables)
    assert status == 0
    assert "tinydep-1.0" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("fetcher", FETCHERS)
def test_a_page_is_not_fetched_without_it(tmp_path: Path, guarded: IndexServer, fetcher: str) -> None:
    status, page = fetched(tmp_path, guarded, fetcher)
    assert status != 0
    assert not page.exists()
