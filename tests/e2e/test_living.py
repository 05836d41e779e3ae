"""Living in an environment: pip inside, what holds its torch, and the ways in."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from index_server import IndexServer
from running import Done, Program, make_program
from tiny_stack import installed
from tiny_wheels import tiny_torch, tiny_wheel

TORCH = "2.14.1+cpu"
CPU = ("torch==2.14.1", "--cuda", "cpu")


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, TORCH), "pytorch", "cpu")
    server.publish(tiny_torch(here, "2.6.0"), "pypi")
    server.publish(tiny_torch(here, "2.15.0"), "pypi")
    server.publish(tiny_wheel(here, "mylib", "1.0", requires=("torch>=2",)), "pypi")
    server.publish(tiny_wheel(here, "mylib", "2.0", requires=("torch>=2",)), "pypi")
    server.publish(tiny_wheel(here, "needsold", "1.0", requires=("torch==2.6.0",)), "pypi")


def made(program: Program, server: IndexServer, name: str = "paper") -> Path:
    """Make an environment and return its path."""
    mirrors = ("--mirror", server.pytorch, "--mirror", server.pypi)
    done = program.run("create", name, *CPU, "--manager", "uv", "--yes", "--json", *mirrors)
    assert done.status == 0, done.out + done.err
    return Path(done.data["environment"]["path"])


@pytest.fixture(scope="module")
def lived(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A program with one environment, `paper`, that tests only look at; blanks and quotes are in its path."""
    program = make_program(tmp_path_factory.mktemp("lived") / "it's a user")
    made(program, server)
    return program


def pip(program: Program, server: IndexServer, name: str, *words: str) -> Done:
    """Run the environment's pip on the server's PyPI."""
    inside = program.with_(PIP_INDEX_URL=server.pypi, PIP_CONFIG_FILE=None)
    return inside.run("run", name, "--", "python", "-m", "pip", *words)


@pytest.mark.slow
def test_pip_is_there_and_is_the_environments_own(lived: Program, server: IndexServer) -> None:
    answer = pip(lived, server, "paper", "--version")
    assert answer.status == 0, answer.err
    assert str(lived.environments / "paper") in answer.out
    same = lived.run("run", "paper", "--", "pip", "--version")
    assert same.out == answer.out


@pytest.mark.slow
def test_an_install_cannot_replace_torch_unasked(program: Program, server: IndexServer) -> None:
    path = made(program, server)
    assert f"torch=={TORCH}" in (path / "constraints.txt").read_text(encoding="utf-8").splitlines()
    refused = pip(program, server, "paper", "install", "needsold")
    assert refused.status == 1
    assert f"torch=={TORCH}" in refused.out
    assert pip(program, server, "paper", "install", "mylib").status == 0
    assert pip(program, server, "paper", "install", "--upgrade", "torch").status == 0
    assert installed(path) == {"torch": TORCH, "mylib": "2.0"}
    bare = {**program.environ, "PIP_INDEX_URL": server.pypi}
    del bare["PIP_CONFIG_FILE"]
    argv = [str(path / "bin" / "python"), "-m", "pip", "install", "needsold"]
    outside = subprocess.run(argv, env=bare, capture_output=True, text=True, check=False)
    assert outside.returncode == 1
    assert f"torch=={TORCH}" in outside.stdout
    lifted = pip(program.with_(PIP_CONSTRAINT=os.devnull), server, "paper", "install", "needsold")
    assert (lifted.status, installed(path)["torch"]) == (1, TORCH)  # inside, both count
    freed = subprocess.run(argv, env={**bare, "PIP_CONSTRAINT": os.devnull}, check=False, capture_output=True)
    assert (freed.returncode, installed(path)["torch"]) == (0, "2.6.0")


@pytest.mark.slow
def test_the_constraints_of_the_user_count_as_well(program: Program, server: IndexServer) -> None:
    path = made(program, server)
    mine = program.home / "mine.txt"
    mine.write_text("mylib<2\n", encoding="utf-8")
    assert pip(program.with_(PIP_CONSTRAINT=str(mine)), server, "paper", "install", "mylib").status == 0
    assert installed(path)["mylib"] == "1.0"
    configuration = program.home / ".config" / "pip" / "pip.conf"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f"[install]\nconstraint = {mine}\n", encoding="utf-8")
    again = pip(program, server, "paper", "install", "--upgrade", "mylib", "needsold")
    assert again.status == 1
    assert pip(program, server, "paper", "install", "--upgrade", "mylib").status == 0
    assert installed(path) == {"torch": TORCH, "mylib": "1.0"}


@pytest.mark.slow
def test_one_environments_constraints_hold_back_no_other(program: Program, server: IndexServer) -> None:
    first = made(program, server)
    ours = (first / "constraints.txt").as_uri()
    active = program.with_(PIP_CONSTRAINT=ours, UV_CONSTRAINT=ours, VIRTUAL_ENV=str(first))
    second = made(active, server, "second")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    inside = json.loads(active.run("run", "second", "--", "python", "-c", code).out)
    theirs = (second / "constraints.txt").as_uri()
    assert (inside["PIP_CONSTRAINT"], inside["UV_CONSTRAINT"]) == (theirs, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["pip", "pip3", "pip3.12"])
def test_another_environments_pip_is_never_run(
    program: Program, server: IndexServer, command: str, tmp_path: Path
) -> None:
    path = made(program, server)
    for script in (path / "bin").glob("pip*"):
        script.unlink()
    another = program.bin / command
    another.write_text(f"#!/bin/sh\n: > '{tmp_path}/called'\n", encoding="utf-8")
    another.chmod(0o755)
    done = program.run("run", "paper", "--", command, "install", "mylib")
    assert done.status == 2
    assert command in done.err
    assert "ensurepip" in done.err
    assert not (tmp_path / "called").exists()


@pytest.mark.slow
def test_variables_that_lead_elsewhere_do_not_reach_inside(lived: Program, tmp_path: Path) -> None:
    packages, sources = tmp_path / "other" / "site-packages", tmp_path / "sources"
    (packages / "pip").mkdir(parents=True)
    (packages / "pip" / "__init__.py").write_text("raise SystemExit('another pip')\n", encoding="utf-8")
    before = lived.environ.get("PYTHONPATH", "")
    misled = lived.with_(
        PYTHONPATH=os.pathsep.join(filter(None, (before, str(packages), str(sources)))),
        PIP_TARGET=str(tmp_path), PIP_PREFIX=str(tmp_path), PIP_USER="1", UV_PYTHON="3.8",
        VIRTUAL_ENV="/other",
    )  # fmt: skip
    answer = misled.run("run", "paper", "--", "python", "-m", "pip", "--version")
    assert answer.status == 0, answer.err
    assert str(lived.environments / "paper") in answer.out
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    inside = json.loads(misled.run("run", "paper", "--", "python", "-c", code).out)
    assert not {"PIP_TARGET", "PIP_PREFIX", "PIP_USER", "UV_PYTHON"} & set(inside)
    assert str(sources) in inside["PYTHONPATH"]
    assert inside["VIRTUAL_ENV"] == str(lived.environments / "paper")


@pytest.mark.slow
def test_each_use_is_noted(program: Program, server: IndexServer) -> None:
    path = made(program, server)
    note = path / ".gpuenv-used"
    assert not note.exists()
    assert program.run("run", "paper", "--", "python", "-c", "").status == 0
    assert note.exists()
