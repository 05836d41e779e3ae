"""A folder that has every wheel is enough: offline nothing is asked, and an index that hangs is let be."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from index_server import IndexServer, serve_indexes
from running import Program, make_program
from tiny_stack import installed
from tiny_wheels import tiny_torch, tiny_wheel

CPU = ("--cuda", "cpu", "--python", f"{sys.version_info[0]}.{sys.version_info[1]}")
BOTH = pytest.mark.parametrize("manager", ["uv", "pip"])


@pytest.fixture(autouse=True)
def _with_pip(request: pytest.FixtureRequest) -> None:
    if "pip" in request.node.name:
        pytest.importorskip("ensurepip")


@pytest.fixture
def server() -> Iterator[IndexServer]:
    with serve_indexes() as index:
        yield index


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    tiny_torch(folder, "2.14.1+cpu")
    tiny_wheel(folder, "tinydep", "1.0")
    tiny_wheel(folder, "mylib", "2.0", requires=("tinydep>=0.9",))
    return folder


@pytest.fixture
def program(tmp_path: Path, server: IndexServer) -> Program:
    made = make_program(tmp_path / "user")
    return made.with_(PIP_INDEX_URL=server.pypi, UV_DEFAULT_INDEX=server.pypi)


def check_made(program: Program, wheelhouse: Path, manager: str, *words: str) -> None:
    done = program.run(
        "create", "trial", "torch==2.14.1", "mylib", *CPU, "--manager", manager, "--yes", "--json",
        "--no-verify", "--find-links", wheelhouse, *words, timeout_s=100,
    )  # fmt: skip
    assert done.status == 0, (done.out[-3000:], done.err[-2000:])
    value = installed(program.environments / "trial")
    assert value == {"torch": "2.14.1+cpu", "mylib": "2.0", "tinydep": "1.0"}


@pytest.mark.slow
@BOTH
def test_offline_nothing_is_asked(
    program: Program, server: IndexServer, wheelhouse: Path, manager: str
) -> None:
    check_made(program, wheelhouse, manager, "--offline")
    assert server.asked == []


@pytest.mark.slow
@BOTH
def test_an_index_that_hangs_is_not_waited_for(
    program: Program, server: IndexServer, wheelhouse: Path, manager: str
) -> None:
    with server.failing("hang", "/simple/"):
        check_made(program, wheelhouse, manager)


def test_what_an_index_on_disk_has_is_had_from_there(
    program: Program, wheelhouse: Path, tmp_path: Path
) -> None:
    """All files are on this machine, but not all of them in the wheelhouse."""
    page = tmp_path / "simple" / "tinydep"
    page.mkdir(parents=True)
    (wheel,) = wheelhouse.glob("tinydep-*")
    shutil.move(wheel, page)
    (page / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>', encoding="utf-8")
    index = page.parent.as_uri()
    check_made(program.with_(PIP_INDEX_URL=index, UV_DEFAULT_INDEX=index), wheelhouse, "uv")
