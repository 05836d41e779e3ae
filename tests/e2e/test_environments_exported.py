"""`export`: what is installed, every version exactly, in every format of a plan."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import get_args

import pytest
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel

from gpuenv.cli.choices import FormatName

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("torch==2.14.1", "torchvision", "--cuda", "cpu", "--python", PYTHON, "--manager", "uv")
ALL = {"torch": "2.14.1+cpu", "torchvision": "0.29.1+cpu", "mylib": "2.0", "tinydep": "1.0"}


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torchvision(here, "0.29.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
    server.publish(tiny_wheel(here, "tinydep", "2.0"), "pypi")
    server.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1", "torch>=2")), "pypi")


def installed(environment: Path) -> dict[str, str]:
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    fields = {item.metadata["Name"].lower(): item.version for item in distributions(path=places)}
    return {name: version for name, version in fields.items() if name not in {"pip", "setuptools"}}


@pytest.fixture(scope="module")
def made(shared: Program, server: IndexServer) -> Program:
    """Make an environment that has changed since: some by gpuenv, some by others."""
    mirrors = ("--mirror", server.pytorch, "--mirror", server.pypi)
    done = shared.run("create", "paper", *CPU, "--yes", "--json", "--no-verify", *mirrors)
    assert done.status == 0, done.err
    assert shared.run("install", "paper", "mylib", "--yes", "--no-verify").status == 0
    paper = shared.environments / "paper"
    uv = (sys.executable, "-m", "uv", "pip", "install", "--python", str(paper))
    index = ("--default-index", server.pypi, "tinydep==1.0")
    subprocess.run((*uv, *index), env=shared.environ, check=True, capture_output=True)
    assert installed(paper) == ALL
    return shared


@pytest.mark.slow
def test_what_is_exported_makes_the_same_environment(made: Program) -> None:
    done = made.run("export", "paper", "-o", "requirements.txt")
    assert done.status == 0, done.err
    text = (made.root / "work" / "requirements.txt").read_text()
    assert text.count("--hash=sha256:") == len(ALL)
    target = made.root / "work" / "again"
    uv = (sys.executable, "-m", "uv")
    for words in (
        ("venv", "--python", sys.executable, str(target)),
        ("pip", "install", "--python", str(target), "-r", "requirements.txt"),
    ):
        subprocess.run(
            (*uv, *words), env=made.environ, cwd=made.root / "work", check=True, capture_output=True
        )
    assert installed(target) == ALL


# a devcontainer.json names no package; a bootstrap script takes gpuenv's own from an index, as its tests do
FORMS = [name for name in get_args(FormatName) if name not in {"devcontainer", "bootstrap"}]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_format_of_a_plan_names_what_is_installed(made: Program, form: str) -> None:
    done = made.run("export", "paper", "--format", form, *_written(form))
    assert done.status == 0, done.err
    folder = made.root / "work" / "out"
    written = (path.read_text() for path in folder.rglob("*") if path.is_file())
    text = done.out + ("".join(written) if _written(form) else "")
    for name in ("torch", "tinydep"):
        assert name in text
    assert "2.14.1" in text
    if form != "text":
        assert "tinydep-2.0" not in text
        assert "tinydep==2.0" not in text


def _written(form: str) -> tuple[str, ...]:
    return ("-o", "out") if form == "ansible" else ()


def test_the_json_has_each_package(made: Program) -> None:
    data = made.run("export", "paper", "--json").data
    assert {row["name"]: row["version"] for row in data["packages"]} == ALL
    assert all(row["url"] and row["sha256"] for row in data["packages"])
    assert data["pins"] == ["torch==2.14.1+cpu", "torchvision==0.29.1+cpu"]


def test_what_no_index_has_is_exported_all_the_same(made: Program, tmp_path: Path) -> None:
    wheel = tiny_wheel(tmp_path, "private", "1.0")
    paper = made.environments / "paper"
    pip = (sys.executable, "-m", "uv", "pip")
    subprocess.run(
        (*pip, "install", "--python", str(paper), str(wheel)),
        env=made.environ,
        check=True,
        capture_output=True,
    )
    done = made.run("export", "paper")
    try:
        assert done.status == 0, done.err
        assert "private==1.0" in done.out
        assert "tinydep==1.0" in done.out
        assert "private" in done.err
        assert made.run("export", "paper", "--format", "pylock.toml").status == 2
    finally:
        subprocess.run(
            (*pip, "uninstall", "--python", str(paper), "private"),
            env=made.environ, check=True, capture_output=True,
        )  # fmt: skip


@pytest.mark.slow
def test_an_older_record_is_exported_by_the_commands_that_made_it(made: Program) -> None:
    file = made.environments / "paper" / "gpuenv.json"
    before = file.read_text()
    kept = json.loads(before)
    for key in ("asked", "sources"):
        del kept["plan"][key]
    file.write_text(json.dumps(kept))
    try:
        done = made.run("export", "paper")
    finally:
        file.write_text(before)
    assert done.status == 0, done.err
    assert "torch==2.14.1+cpu" in done.out


def test_without_an_index_the_versions_are_exported(made: Program, server: IndexServer) -> None:
    with server.failing("500", "/simple/tinydep"):
        done = made.run("export", "paper", "--offline")
    assert done.status == 0, done.err
    for name, version in ALL.items():
        assert f"{name}=={version}" in done.out
