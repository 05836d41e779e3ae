"""`gpuenv clone`: the same packages at another path, which share nothing with the original."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from index_server import IndexServer
from running import Done, Program
from tiny_stack import installed
from tool_environments import make_with_tool, publish_tool

PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    publish_tool(server, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(params=["uv", "pip"])
def paper(program: Program, mirrors: tuple[str, ...], request: pytest.FixtureRequest) -> Path:
    return make_with_tool(program, mirrors, "paper", request.param)


def clone(program: Program, *words: str) -> Done:
    return program.run("clone", *words, "--yes", "--json")


def mentions(root: Path, text: str) -> list[str]:
    """The files that name a path; compiled ones are set right by Python when they are loaded."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    needle = re.compile(re.escape(text.encode()) + rb"(?![\w-])")
    return [str(path) for path in files if path.suffix != ".pyc" and needle.search(path.read_bytes())]


def wrong_hashes(root: Path) -> list[str]:
    wrong = []
    for record in root.glob("lib/*/site-packages/*.dist-info/RECORD"):
        for line in record.read_text(encoding="utf-8").splitlines():
            path, message, size = line.rsplit(",", 2)
            if message:
                content = (record.parent.parent / path).read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                wrong += [path] if (message, size) != (f"sha256={digest}", str(len(content))) else []
    return wrong


@pytest.mark.slow
def test_a_clone_has_the_same_packages_and_lives_by_itself(
    program: Program, server: IndexServer, mirrors: tuple[str, ...], paper: Path
) -> None:
    server.forget()
    done = clone(program, "paper", "second")
    assert done.status == 0, done.out + done.err
    second = program.environments / "second"
    assert done.data["environment"]["path"] == str(second)
    assert done.data["source"] == {"name": "paper", "path": str(paper)}
    assert done.data["verify"]["devices"][0]["ok"]
    assert installed(second) == installed(paper)
    assert mentions(second, str(paper)) == []
    assert wrong_hashes(second) == []
    assert program.run("run", "second", "--", "tool").out == f"{second}\n"
    listed = program.run("run", "second", "--", "python", "-m", "pip", "--version").out
    assert str(second) in listed
    script = f". {second}/bin/activate; echo $VIRTUAL_ENV; echo $PS1; tool"
    shown = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[0] == shown.splitlines()[-1] == str(second)
    assert "paper" not in shown
    before = json.loads((paper / "gpuenv.json").read_text(encoding="utf-8"))
    after = json.loads((second / "gpuenv.json").read_text(encoding="utf-8"))
    assert (after["name"], after["verified"]) == ("second", True)
    assert after["plan"]["pins"] == before["plan"]["pins"]
    assert after["plan"]["asked"] == before["plan"]["asked"]
    assert (second / "constraints.txt").as_uri() in (second / "pip.conf").read_text(encoding="utf-8")
    assert "gpuenv update second --torch" in (second / "constraints.txt").read_text(encoding="utf-8")
    assert program.run("install", "second", "later", "--yes", *mirrors).status == 0
    assert "later" in installed(second)
    assert "later" not in installed(paper)
    assert program.run("verify", "second").status == 0
    assert program.run("remove", "paper", "--yes").status == 0
    assert program.run("run", "second", "--", "tool").out == f"{second}\n"


@pytest.mark.slow
def test_no_file_is_shared(program: Program, mirrors: tuple[str, ...]) -> None:
    paper = make_with_tool(program, mirrors, "paper")
    assert clone(program, "paper", "second", "--no-verify").status == 0
    second = program.environments / "second"
    for file in paper.rglob("*"):
        copy = second / file.relative_to(paper)
        if file.is_file() and not file.is_symlink() and copy.exists():
            assert not file.samefile(copy), file
            assert os.access(file, os.X_OK) == os.access(copy, os.X_OK)


@pytest.mark.slow
def test_a_clone_can_lie_at_a_path_with_blanks(program: Program, mirrors: tuple[str, ...]) -> None:
    make_with_tool(program, mirrors, "paper")
    assert clone(program, "paper", "./a copy").status == 0
    location = program.root / "work" / "a copy"
    done = subprocess.run([location / "bin" / "tool"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{location}\n"
    assert clone(program, "./a copy", "back").status == 0
    back = program.environments / "back"
    assert mentions(back, str(location)) == []
    assert program.run("run", "back", "--", "tool").out == f"{back}\n"
    paths = {row["path"] for row in program.run("list", "--json").data["environments"]}
    assert str(location) in paths


@pytest.mark.slow
def test_what_points_into_the_environment_is_rewritten(program: Program, mirrors: tuple[str, ...]) -> None:
    paper = make_with_tool(program, mirrors, "paper")
    source = paper / "src" / "mine"
    source.mkdir(parents=True)
    (source / "mine.py").write_text("place = __file__\n", encoding="utf-8")
    packages = paper / "lib" / PYTHON / "site-packages"
    (packages / "__editable__.mine.pth").write_text(f"{source}\n", encoding="utf-8")
    (packages / "other.pth").write_text(f"{paper}-other/src\n", encoding="utf-8")
    info = packages / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", encoding="utf-8")
    (info / "direct_url.json").write_text(json.dumps({"url": source.as_uri()}), encoding="utf-8")
    (paper / "inner").symlink_to(source)
    assert clone(program, "paper", "second", "--no-verify").status == 0
    second = program.environments / "second"
    answer = program.run("run", "second", "--", "python", "-c", "import mine; print(mine.place)").out
    assert answer == f"{second}/src/mine/mine.py\n"
    packages = second / "lib" / PYTHON / "site-packages"
    assert (packages / "other.pth").read_text(encoding="utf-8") == f"{paper}-other/src\n"
    url = json.loads((packages / "mine-1.0.dist-info" / "direct_url.json").read_text(encoding="utf-8"))["url"]
    assert url == (second / "src" / "mine").as_uri()
    assert (second / "inner").readlink() == second / "src" / "mine"


@pytest.mark.slow
def test_what_is_said_before_the_yes(program: Program, mirrors: tuple[str, ...]) -> None:
    make_with_tool(program, mirrors, "paper")
    shown = program.run("clone", "paper", "second", "--dry-run", "--json")
    assert shown.data["files"] > 10
    assert shown.data["size"] > 1000
    assert not (program.environments / "second").exists()
    requested = program.run("clone", "paper", "second")
    assert requested.status == 2
    assert "--yes" in requested.err
    assert not (program.environments / "second").exists()


@pytest.mark.slow
def test_what_can_not_be_cloned(program: Program, mirrors: tuple[str, ...]) -> None:
    make_with_tool(program, mirrors, "paper")
    make_with_tool(program, mirrors, "taken")
    conda = program.root / "work" / "conda"
    (conda / "conda-meta").mkdir(parents=True)
    for name in ("history", "python-3.12.0-0.json"):
        (conda / "conda-meta" / name).touch()
    for words, code in {
        ("papr", "second"): "unknown-environment",
        ("paper", "taken"): "environment-exists",
        ("paper", "paper"): "same-name",
        ("paper", "PAPER"): "same-name",
        ("paper", "a/../$x"): "bad-path",
        ("paper", "con"): "bad-name",
        ("paper", str(program.environments / "paper" / "inner")): "bad-name",
        ("./conda", "second"): "conda-environment",
    }.items():
        done = clone(program, *words)
        assert (done.status, done.error["code"]) == (2, code), words
    assert {path.name for path in program.environments.iterdir()} == {"paper", "taken"}
