"""Of an environment that another user owns only files are read: its Python is that user's program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from attacks import attack, held_off
from running import Program

STRANGER = 12345

pytestmark = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only root can give files to somebody else"
)


@pytest.fixture
def marker(program: Program) -> Path:
    return program.root / "ran"


@pytest.fixture
def environment(program: Program, marker: Path) -> Path:
    """Somebody's environment, whose Python leaves a mark."""
    root = program.root / "theirs"
    packages = root / "lib" / "python3.11" / "site-packages"
    info = packages / "torch-2.14.1.dist-info"
    (root / "bin").mkdir(parents=True)
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.14.1\n", encoding="utf-8")
    (packages / "torch").mkdir()
    (packages / "torch" / "version.py").write_text("__version__ = '2.14.1'\n", encoding="utf-8")
    (root / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n", encoding="utf-8")
    python = root / "bin" / "python"
    python.write_text(f"#!/bin/sh\n>{marker}\n", encoding="utf-8")
    python.chmod(0o755)
    return root


def give(root: Path, *names: str) -> None:
    """Give an environment, or these of its parts, to somebody else."""
    parts = [root / name for name in names] if names else [root, *root.rglob("*")]
    for path in parts:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


@attack(
    "owns an environment that somebody verifies or examines, or a part of it",
    "their Python run",
    without="anyones-python-is-started",
)
@pytest.mark.parametrize("part", [(), (".",), ("bin",), ("bin/python",), ("lib/python3.11/site-packages",)])
def test_the_python_of_another_user_is_not_started(
    program: Program, environment: Path, marker: Path, part: tuple[str, ...]
) -> None:
    give(environment, *part)
    named = environment / "bin" / "python"
    for words in (("verify", environment), ("doctor", environment), ("doctor", "--python", named)):
        done = program.run(*words, "--json")
        held_off(not marker.exists(), words)
        assert done.status in {2, 6, 0}, (done.out, done.err)
        assert "12345" in done.out


def test_verify_says_whose_it_is_and_how_to_run_it(program: Program, environment: Path, marker: Path) -> None:
    give(environment)
    done = program.run("verify", environment, "--json")
    assert (done.status, done.error["code"]) == (2, "other-owner")
    assert f"gpuenv verify {environment} --trust" in [fix["command"] for fix in done.error["fixes"]]
    program.run("verify", environment, "--trust", "--json")
    assert marker.exists()


def test_doctor_reads_the_files_of_another_users_environment(program: Program, environment: Path) -> None:
    give(environment)
    done = program.run("doctor", environment, "-v")
    assert "Python 3.11.2" in done.out
    assert "2.14.1" in done.out
    assert "only its files were read" in done.err


@attack("owns an environment that somebody repairs", "their Python run", without="anyones-python-is-started")
def test_a_repair_of_another_users_environment_is_refused(
    program: Program, environment: Path, marker: Path
) -> None:
    give(environment)
    done = program.run("doctor", environment, "--fix", "--yes")
    held_off(not marker.exists())
    assert done.status == 2, (done.out, done.err)


def test_ones_own_environment_is_started(program: Program, environment: Path, marker: Path) -> None:
    program.run("doctor", environment, "--json")
    assert marker.exists()


def test_an_active_environment_is_started_whoever_owns_it(
    program: Program, environment: Path, marker: Path
) -> None:
    give(environment)
    program.with_(VIRTUAL_ENV=str(environment)).run("verify", "--json")
    assert marker.exists()
