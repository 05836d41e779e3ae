"""`gpuenv rename`: the environment is whole under its new name, and all that belongs to it follows."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from index_server import IndexServer
from running import Done, Program
from tiny_stack import installed
from tool_environments import make_with_tool, publish_tool


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    publish_tool(server, tmp_path_factory.mktemp("wheels"))


def rename(program: Program, *words: str) -> Done:
    return program.run("rename", *words, "--json")


@pytest.mark.slow
@pytest.mark.parametrize("manager", ["uv", "pip"])
def test_all_that_belongs_to_an_environment_follows_it(
    program: Program, mirrors: tuple[str, ...], manager: str
) -> None:
    paper = make_with_tool(program, mirrors, "paper", manager)
    packages = installed(paper)
    assert program.run("kernel", "paper").status == 0
    assert program.run("list").status == 0  # which counts and keeps the size
    done = rename(program, "paper", "thesis")
    assert done.status == 0, done.out + done.err
    thesis = program.environments / "thesis"
    assert done.data["environment"]["path"] == str(thesis)
    assert done.data["previous"] == {"name": "paper", "path": str(paper)}
    assert not paper.exists()
    assert installed(thesis) == packages
    assert program.run("run", "thesis", "--", "tool").out == f"{thesis}\n"
    assert str(thesis) in program.run("run", "thesis", "--", "python", "-m", "pip", "--version").out
    (row,) = program.run("list", "--json").data["environments"]
    assert (row["name"], row["verified"]) == ("thesis", True)
    kernels = program.home / ".local" / "share" / "jupyter" / "kernels"
    assert [path.name for path in kernels.iterdir()] == ["gpuenv-thesis"]
    kernel = json.loads((kernels / "gpuenv-thesis" / "kernel.json").read_text(encoding="utf-8"))
    assert kernel["display_name"] == "Python (thesis)"
    assert kernel["argv"][0].startswith(str(thesis))
    assert str(paper) not in json.dumps(kernel)
    assert program.run("verify", "thesis").status == 0
    assert program.run("install", "thesis", "later", "--yes", *mirrors).status == 0
    assert {log.name.partition("-")[0] for log in (program.root / "data" / "logs").iterdir()} == {"thesis"}
    assert program.run("remove", "thesis", "--yes").status == 0
    assert not (kernels / "gpuenv-thesis").exists()
    assert list((program.root / "data" / "logs").iterdir()) == []
    assert list((program.root / "cache").rglob("sizes/*")) == []


@pytest.mark.slow
def test_an_environment_moves_between_the_store_and_a_path(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    make_with_tool(program, mirrors, "paper")
    location = program.root / "work" / "deeper" / "an env"
    assert rename(program, "paper", "./deeper/an env").status == 0
    assert [row["path"] for row in program.run("list", "--json").data["environments"]] == [str(location)]
    done = subprocess.run([location / "bin" / "tool"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{location}\n"
    assert rename(program, "./deeper/an env", "paper").status == 0
    assert not location.exists()
    assert list((program.root / "data" / "elsewhere").iterdir()) == []
    paper = program.environments / "paper"
    assert program.run("run", "paper", "--", "tool").out == f"{paper}\n"
    assert (paper / "bin" / "tool").read_text(encoding="utf-8").startswith(f"#!{paper}/bin/python")


@pytest.mark.slow
def test_constraints_that_were_lifted_stay_so(program: Program, mirrors: tuple[str, ...]) -> None:
    file = make_with_tool(program, mirrors, "paper") / "constraints.txt"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if line.startswith("#")), encoding="utf-8")
    assert rename(program, "paper", "thesis").status == 0
    kept = (program.environments / "thesis" / "constraints.txt").read_text(encoding="utf-8")
    assert "gpuenv update thesis --torch" in kept
    assert "torch==" not in kept


@pytest.mark.slow
def test_what_can_not_be_renamed(program: Program, mirrors: tuple[str, ...]) -> None:
    paper = make_with_tool(program, mirrors, "paper")
    make_with_tool(program, mirrors, "taken")
    before = {path: path.stat().st_mtime_ns for path in paper.iterdir()}
    conda = program.root / "work" / "conda"
    (conda / "conda-meta").mkdir(parents=True)
    for name in ("history", "python-3.12.0-0.json"):
        (conda / "conda-meta" / name).touch()
    (program.root / "work" / "full").mkdir()
    (program.root / "work" / "full" / "mine").touch()
    for words, code in {
        ("papr", "thesis"): "unknown-environment",
        ("paper", "taken"): "environment-exists",
        ("paper", "./full"): "not-an-environment",
        ("paper", "paper"): "same-name",
        ("paper", "Paper"): "same-name",
        ("paper", "con"): "bad-name",
        ("paper", "x y"): "bad-name",
        ("paper", str(paper / "inner")): "bad-name",
        ("./conda", "thesis"): "conda-environment",
    }.items():
        done = rename(program, *words)
        assert (done.status, done.error["code"]) == (2, code), words
    assert {path: path.stat().st_mtime_ns for path in paper.iterdir()} == before
    assert {path.name for path in program.environments.iterdir()} == {"paper", "taken"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_where_nothing_may_be_written_all_stays(program: Program, mirrors: tuple[str, ...]) -> None:
    paper = make_with_tool(program, mirrors, "paper")
    program.environments.chmod(0o555)
    try:
        done = rename(program, "paper", "thesis")
        assert (done.status, done.error["code"]) == (5, "not-writable")
    finally:
        program.environments.chmod(0o755)
    assert program.run("run", "paper", "--", "tool").out == f"{paper}\n"
    assert not list(paper.glob(".gpuenv-renaming*"))


@pytest.mark.slow
def test_a_kernel_of_others_with_the_new_name_stays(program: Program, mirrors: tuple[str, ...]) -> None:
    make_with_tool(program, mirrors, "paper")
    assert program.run("kernel", "paper").status == 0
    kernels = program.home / ".local" / "share" / "jupyter" / "kernels"
    (kernels / "gpuenv-thesis").mkdir()
    (kernels / "gpuenv-thesis" / "kernel.json").write_text("{}", encoding="utf-8")
    assert rename(program, "paper", "thesis").status == 0
    assert (kernels / "gpuenv-thesis" / "kernel.json").read_text(encoding="utf-8") == "{}"
    moved = (kernels / "gpuenv-paper" / "kernel.json").read_text(encoding="utf-8")
    assert str(program.environments / "thesis") in moved
    assert program.run("remove", "thesis", "--yes").status == 0
    assert not (kernels / "gpuenv-paper").exists()
