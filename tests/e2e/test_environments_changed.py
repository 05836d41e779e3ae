"""`install`, `uninstall`, `update` and `export`: environments that change, the torch stack held."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import pty
import shutil
import signal
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from index_server import IndexServer
from running import Done, Program, make_program
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel
from waiting import wait_until

from gpuenv.environments import snapshot
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("torch==2.14.1", "--cuda", "cpu", "--python", PYTHON, "--manager", "uv")


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torch(here, "2.15.0+cpu"), "pytorch", "cpu")
    server.publish(tiny_torch(here, "2.12.0+cpu"), "pytorch", "cpu")
    server.publish(tiny_torch(here, "2.14.1+cu126", cuda="12.6"), "pytorch", "cu126")
    server.publish(tiny_torch(here / "newer", "2.15.0"), "pypi")
    server.publish(tiny_torchvision(here, "0.29.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torchvision(here, "0.29.2+cpu"), "pytorch", "cpu")
    server.publish(tiny_torchvision(here, "0.27.0+cpu"), "pytorch", "cpu")
    server.publish(tiny_torchvision(here, "0.29.1"), "pypi")
    server.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
    server.publish(tiny_wheel(here, "tinydep", "2.0"), "pypi")
    server.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1", "torch>=2")), "pypi")
    server.publish(tiny_wheel(here, "seeing", "1.0", requires=("torchvision", "torch")), "pypi")
    server.publish(tiny_wheel(here, "needsold", "1.0", requires=("torch==2.12.0",)), "pypi")
    server.publish(tiny_wheel(here, "wrapsold", "1.0", requires=("needsold",)), "pypi")
    server.publish(tiny_wheel(here, "needsnone", "1.0", requires=("torch==9.9.9",)), "pypi")
    server.publish(tiny_wheel(here, "oldfriend", "1.0", requires=("tinydep<2",)), "pypi")


def installed(environment: Path) -> dict[str, str]:
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    fields = {item.metadata["Name"].lower(): item.version for item in distributions(path=places)}
    return {name: version for name, version in fields.items() if name not in {"pip", "setuptools"}}


def record(environment: Path) -> dict[str, Any]:
    return dict(json.loads((environment / "gpuenv.json").read_text(encoding="utf-8")))


def files(environment: Path) -> dict[str, str]:
    """Return every file with its digest, but for what Python compiles."""
    paths = (path for path in environment.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture(scope="module")
def made(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Make an environment with a torch for the CPU, and keep a copy of all that is there then."""
    program = make_program(tmp_path_factory.mktemp("made") / "user")
    mirrors = ("--mirror", server.pytorch, "--mirror", server.pypi)
    done = program.run("create", "paper", *CPU, "--yes", "--json", *mirrors)
    assert done.status == 0, done.err
    _copy(program.root, program.root.with_name("kept"))
    return program


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    """Run gpuenv where `paper` has just been made, or where nothing is."""
    if "paper" not in request.fixturenames:
        return make_program(tmp_path / "user")
    program: Program = request.getfixturevalue("made")
    shutil.rmtree(program.root)
    _copy(program.root.with_name("kept"), program.root)
    return program


def _copy(folder: Path, to: Path) -> None:
    """Copy a folder; pip's own files, which are most of them and which nothing changes, are linked."""

    def copy(file: str, to: str) -> object:
        return os.link(file, to) if "/pip/" in file else shutil.copy2(file, to)

    shutil.copytree(folder, to, symlinks=True, copy_function=copy)


@pytest.fixture
def paper(program: Program) -> Path:
    """Return an environment with a torch for the CPU, and without any package beside it."""
    return program.environments / "paper"


@pytest.mark.slow
def test_the_record_says_what_was_asked_for_and_where_from_without_secrets(
    program: Program, server: IndexServer, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text("tinydep<2\n")
    secret = server.pypi.replace("http://", "http://me:hunter2@")
    mirrors = ("--mirror", server.pytorch, "--mirror", secret)
    done = program.run(
        "create", "paper", *CPU, "-r", tmp_path / "requirements.txt", "--yes", "--json", *mirrors
    )
    assert done.status == 0, done.err
    plan = record(program.environments / "paper")["plan"]
    assert plan["asked"] == {
        "requirements": ["torch==2.14.1", "tinydep<2"], "mirrors": [server.pytorch, server.pypi],
        "find_links": [], "cuda": "cpu", "channel": "auto", "devices": [],
    }  # fmt: skip
    assert plan["sources"]["index_url"] == server.pypi
    assert "hunter2" not in json.dumps(plan)


# --- install


def change(program: Program, *arguments: str) -> Done:
    return program.run(*arguments, "--yes", "--json")


def test_a_package_and_what_it_needs_come_beside_the_torch_that_is_there(
    program: Program, paper: Path
) -> None:
    done = change(program, "install", "paper", "mylib")
    assert done.status == 0, done.err
    assert installed(paper) == {"torch": "2.14.1+cpu", "mylib": "2.0", "tinydep": "2.0"}
    assert [(item["name"], item["before"], item["after"]) for item in done.data["changes"]] == [
        ("mylib", None, "2.0"), ("tinydep", None, "2.0")
    ]  # fmt: skip
    assert all(item["size"] > 0 for item in done.data["changes"])
    assert done.data["torch"] == {"before": "2.14.1+cpu", "after": "2.14.1+cpu"}
    kept = record(paper)
    assert (kept["verified"], kept["plan"]["asked"]["requirements"]) == (True, ["torch==2.14.1", "mylib"])
    rows = {row["name"]: row for row in kept["plan"]["packages"]}
    assert set(rows) == {"torch", "mylib", "tinydep"}
    assert rows["mylib"]["sha256"]
    assert not list(paper.glob(".gpuenv-*"))


@pytest.mark.slow
def test_what_was_asked_for_before_holds_together_with_what_is_asked_for_now(
    program: Program, paper: Path
) -> None:
    assert change(program, "install", "paper", "mylib", "tinydep>=2").status == 0
    before = files(paper)
    refused = change(program, "install", "paper", "oldfriend")
    assert (refused.status, refused.error["code"]) == (3, "requirements-conflict")
    assert "oldfriend" in json.dumps(refused.error["because"])
    assert files(paper) == before
    assert change(program, "install", "paper", "oldfriend", "tinydep<2").status == 0
    assert installed(paper)["tinydep"] == "1.0"
    assert "tinydep>=2" not in record(paper)["plan"]["asked"]["requirements"]


@pytest.mark.slow
def test_a_companion_comes_as_the_build_for_the_torch_that_is_there(program: Program, paper: Path) -> None:
    assert change(program, "install", "paper", "torchvision").status == 0
    assert installed(paper)["torchvision"] == "0.29.1+cpu"
    kept = record(paper)["plan"]
    assert kept["pins"] == ["torch==2.14.1+cpu", "torchvision==0.29.1+cpu"]
    assert [row["name"] for row in kept["packages"]] == ["torch", "torchvision"]


@pytest.mark.slow
def test_a_companion_that_a_package_brings_is_the_right_build_too(program: Program, paper: Path) -> None:
    """PyPI has a torchvision of that version: it is another build."""
    done = change(program, "install", "paper", "seeing")
    assert done.status == 0, done.err
    assert installed(paper) == {"torch": "2.14.1+cpu", "torchvision": "0.29.1+cpu", "seeing": "1.0"}


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["needsold", "wrapsold", "torch==2.12.0"])
def test_what_needs_another_torch_is_refused_with_the_command_that_moves_it(
    program: Program, paper: Path, wanted: str
) -> None:
    before = files(paper)
    done = change(program, "install", "paper", wanted)
    assert (done.status, done.error["code"]) == (3, "torch-held"), done.out
    assert "2.12.0" in done.error["because"][0]["text"]
    assert done.error["fixes"][0]["command"] == f"gpuenv install paper {wanted} --torch"
    assert files(paper) == before
    moved = change(program, "install", "paper", wanted, "--torch")
    assert moved.status == 0, moved.err
    assert installed(paper)["torch"] == "2.12.0+cpu"
    assert moved.data["torch"] == {"before": "2.14.1+cpu", "after": "2.12.0+cpu"}
    assert record(paper)["plan"]["pins"] == ["torch==2.12.0+cpu"]
    assert record(paper)["verified"] is True


def test_moving_torch_moves_its_companions_and_keeps_the_rest(program: Program, paper: Path) -> None:
    assert change(program, "install", "paper", "torchvision", "tinydep<2").status == 0
    assert change(program, "install", "paper", "needsold", "--torch").status == 0
    assert installed(paper) == {
        "torch": "2.12.0+cpu", "torchvision": "0.27.0+cpu", "tinydep": "1.0", "needsold": "1.0"
    }  # fmt: skip


@pytest.mark.slow
def test_what_no_torch_goes_with_is_refused(program: Program, paper: Path) -> None:
    before = files(paper)
    for more in ((), ("--torch",)):
        done = change(program, "install", "paper", "needsnone", *more)
        assert (done.status, done.error["code"]) == (3, "requirements-conflict"), done.out
        assert "needsnone" in json.dumps(done.error["because"])
        assert "torch==9.9.9" in json.dumps(done.error["because"])
    assert files(paper) == before


@pytest.mark.slow
def test_what_is_not_there_is_refused_in_the_resolvers_words(program: Program, paper: Path) -> None:
    done = change(program, "install", "paper", "nosuchthing")
    assert (done.status, done.error["code"]) == (3, "requirements-conflict")
    assert "nosuchthing" in done.error["because"][0]["text"]


@pytest.mark.slow
def test_nothing_to_change_is_said_and_what_is_asked_for_is_noted(program: Program, paper: Path) -> None:
    assert change(program, "install", "paper", "mylib").status == 0
    done = program.run("install", "paper", "tinydep", "torch")
    assert (done.status, done.out) == (0, "nothing to change\n")
    assert record(paper)["plan"]["asked"]["requirements"] == ["mylib", "tinydep", "torch"]
    assert record(paper)["verified"] is True


def test_what_does_not_work_afterwards_is_undone(program: Program, paper: Path) -> None:
    before = files(paper)
    broken = program.with_(FAKE_TORCH=json.dumps({"faults": [["kernel", "cpu", "an illegal access"]]}))
    done = change(broken, "install", "paper", "mylib")
    assert done.status == 6, done.out
    assert done.error["message"].endswith("everything was restored")
    assert files(paper) == before
    assert change(broken, "install", "paper", "mylib", "--no-verify").status == 0
    assert record(paper)["verified"] is None


def test_a_dry_run_shows_and_changes_nothing(program: Program, paper: Path) -> None:
    before = files(paper)
    done = program.run("install", "paper", "mylib", "--dry-run")
    assert done.status == 0, done.err
    first, *rest = done.out.splitlines()
    assert first == "torch 2.14.1+cpu stays"
    assert [line.partition(" (")[0] for line in rest[:2]] == ["+ mylib 2.0", "+ tinydep 2.0"]
    assert rest[2].startswith("2 to add, 0 to change, 0 to remove; ")
    assert files(paper) == before


def test_without_a_terminal_it_is_shown_and_yes_is_asked_for(program: Program, paper: Path) -> None:
    before = files(paper)
    done = program.run("install", "paper", "mylib")
    assert done.status == 2
    assert "+ mylib 2.0" in done.out
    assert "--yes" in done.err
    assert files(paper) == before


def test_an_installer_that_fails_leaves_what_was_there(
    program: Program, paper: Path, server: IndexServer, tmp_path: Path
) -> None:
    wheel = tiny_wheel(tmp_path, "spoilt", "1.0")
    wheel.write_bytes(wheel.read_bytes().replace(b"__version__", b"__vursion__", 1))
    server.publish(wheel, "pypi")
    before = files(paper)
    done = change(program, "install", "paper", "spoilt", "tinydep")
    assert (done.status, done.error["code"]) == (5, "install-failed"), done.out
    assert files(paper) == before


def test_where_it_was_made_from_is_where_it_grows_from(
    program: Program, paper: Path, server: IndexServer
) -> None:
    """No option names the test's index: what the record says does."""
    server.forget()
    assert change(program, "install", "paper", "mylib").status == 0
    assert any(path.startswith("/simple/mylib") for path in server.count())


def test_an_older_record_grows_by_the_configuration(
    program: Program, paper: Path, server: IndexServer
) -> None:
    kept = record(paper)
    for key in ("asked", "sources"):
        del kept["plan"][key]
    (paper / "gpuenv.json").write_text(json.dumps(kept))
    configured = program.with_(PIP_INDEX_URL=server.pypi)
    done = change(configured, "install", "paper", "mylib")
    assert done.status == 0, done.err
    assert record(paper)["plan"]["asked"]["requirements"] == ["torch", "mylib"]


@pytest.mark.slow
def test_an_index_that_is_down_is_exit_4(program: Program, paper: Path, server: IndexServer) -> None:
    with server.failing("500", "/simple/mylib"):
        done = change(program, "install", "paper", "mylib")
    assert done.status == 4, done.out


@pytest.mark.parametrize("name", ["nobody", "../paper", "./work"])
def test_only_environments_of_gpuenv_s_grow(program: Program, name: str) -> None:
    assert change(program, "install", name, "mylib").status == 2


def test_a_damaged_record_is_told(program: Program, paper: Path) -> None:
    (paper / "gpuenv.json").write_text("{")
    done = change(program, "install", "paper", "mylib")
    assert (done.status, done.error["code"]) == (2, "record-unreadable")


@pytest.mark.parametrize(
    "garbage", [None, 3, [], ["", "not a requirement !", 3], {"requirements": [3, "a b"]}]
)
def test_garbage_in_a_record_is_passed_over(program: Program, paper: Path, garbage: object) -> None:
    kept = record(paper)
    for key in ("asked", "pins", "packages", "constraints", "requirements"):
        kept["plan"][key] = garbage
    (paper / "gpuenv.json").write_text(json.dumps(kept))
    assert change(program, "install", "paper", "tinydep", "--no-verify").status == 0
    assert program.run("export", "paper").status == 0


def test_an_environment_that_was_moved_by_hand_grows_where_it_is(program: Program, paper: Path) -> None:
    elsewhere = program.root / "work" / "moved"
    paper.rename(elsewhere)
    done = change(program, "install", "./moved", "mylib")
    assert done.status == 0, done.err
    assert installed(elsewhere)["mylib"] == "2.0"


def kill_half_way(paper: Path) -> None:
    (site,) = paper.glob("lib/*/site-packages")
    environment = EnvironmentPaths(EnvironmentStore(paper.parent.parent), "paper", paper)
    snapshot.take(environment, (str(site),), ("torch", "mylib"))
    for path in site.glob("torch-*/*"):
        path.unlink()
    (site / "mylib").mkdir()
    (site / "mylib" / "__init__.py").write_text("")


@pytest.mark.slow
def test_looking_leaves_a_killed_change_as_it_is_and_says_what_mends_it(
    program: Program, paper: Path
) -> None:
    before = files(paper)
    kill_half_way(paper)
    half = files(paper)
    done = program.run("list", "--json")
    assert [item["code"] for item in done.envelope["warnings"]] == ["change-interrupted"]
    assert "gpuenv doctor paper --fix" in done.envelope["warnings"][0]["message"]
    looking = (
        ("run", "paper", "--", "python", "-V"), ("info", "paper"), ("export", "paper"), ("verify", "paper"),
        ("verify", paper), ("activate", "paper"), ("clone", "paper", "second", "--yes"),
        ("install", "paper", "mylib", "--dry-run"),
    )  # fmt: skip
    for words in looking:
        done = program.run(*words)
        assert done.status == 2, (words, done.out, done.err)
        assert "gpuenv doctor paper --fix" in done.err
    active = program.with_(VIRTUAL_ENV=str(paper))
    for done in (program.run("verify", "--json"), active.run("verify", "--json")):
        assert (done.status, done.error["code"]) == (2, "change-interrupted")
    for env in ("paper", paper, paper / "bin" / "python"):
        done = program.run("doctor", env, "--json")
        assert (done.status, done.error["code"]) == (6, "change-interrupted")
    assert files(paper) == half
    assert program.run("doctor", "paper", "--fix", "--no-verify", "--yes").status == 0
    assert files(paper) == before


@pytest.mark.slow
def test_a_killed_change_is_undone_by_the_same_command(program: Program, paper: Path) -> None:
    kill_half_way(paper)
    assert change(program, "install", "paper", "mylib").status == 0
    assert installed(paper)["torch"] == "2.14.1+cpu"
    assert program.run("list", "--json").envelope["warnings"] == []


# --- uninstall


@pytest.mark.slow
def test_a_package_is_taken_out_and_what_only_it_needed_is_named(program: Program, paper: Path) -> None:
    assert change(program, "install", "paper", "mylib").status == 0
    done = change(program, "uninstall", "paper", "mylib")
    assert done.status == 0, done.err
    assert done.data["unneeded"] == ["tinydep"]
    assert installed(paper) == {"torch": "2.14.1+cpu", "tinydep": "2.0"}
    assert record(paper)["plan"]["asked"]["requirements"] == ["torch==2.14.1"]
    assert {row["name"] for row in record(paper)["plan"]["packages"]} == {"torch", "tinydep"}


@pytest.mark.slow
def test_prune_takes_what_only_it_needed_as_well(program: Program, paper: Path) -> None:
    assert change(program, "install", "paper", "mylib").status == 0
    assert change(program, "uninstall", "paper", "mylib", "--prune").status == 0
    assert installed(paper) == {"torch": "2.14.1+cpu"}


@pytest.mark.slow
def test_who_needs_it_is_told_first(program: Program, paper: Path) -> None:
    assert change(program, "install", "paper", "mylib").status == 0
    done = program.run("uninstall", "paper", "tinydep", "--dry-run")
    assert "tinydep is required by mylib" in done.err
    assert "- tinydep 2.0" in done.out


def test_torch_is_taken_out_only_where_that_is_said(program: Program, paper: Path) -> None:
    done = change(program, "uninstall", "paper", "torch")
    assert (done.status, done.error["code"]) == (2, "torch-stays")
    assert done.error["fixes"][0]["command"] == "gpuenv remove paper"
    assert change(program, "uninstall", "paper", "torch", "--torch").status == 0
    assert installed(paper) == {}


@pytest.mark.parametrize("package", ["mylib", "MyLib_", "--x", "a b"])
def test_what_is_not_installed_is_told(program: Program, paper: Path, package: str) -> None:
    assert change(program, "uninstall", "paper", package).status == 2


# --- update


@pytest.mark.slow
def test_newer_versions_come_within_what_was_asked_for(program: Program, paper: Path) -> None:
    assert change(program, "install", "paper", "tinydep==1.0", "mylib").status == 0
    assert program.run("update", "paper").out == "nothing to change\n"
    assert change(program, "install", "paper", "tinydep").status == 0
    assert installed(paper)["tinydep"] == "1.0"
    done = change(program, "update", "paper")
    assert done.status == 0, done.err
    assert installed(paper) == {"torch": "2.14.1+cpu", "tinydep": "2.0", "mylib": "2.0"}


@pytest.mark.slow
def test_torch_is_updated_only_where_that_is_said(
    program: Program, mirrors: tuple[str, ...], tmp_path: Path
) -> None:
    old = ("torch==2.12.0", "torchvision", *CPU[1:])
    assert program.run("create", "paper", *old, "--yes", "--json", *mirrors).status == 0
    paper = program.environments / "paper"
    assert program.run("update", "paper").out == "nothing to change\n"
    pinned = program.run("update", "paper", "--torch")
    assert pinned.out == "nothing to change\n"
    assert "torch==2.12.0" in pinned.err
    assert change(program, "install", "paper", "torch<2.15").status == 0
    done = change(program, "update", "paper", "--torch")
    assert done.status == 0, done.err
    assert installed(paper) == {"torch": "2.14.1+cpu", "torchvision": "0.29.1+cpu"}
    assert record(paper)["plan"]["variant"] == "cpu"


# --- what holds the stack inside, other managers, other ends


@pytest.mark.slow
def test_the_constraints_inside_follow_torch_and_hold_nothing_back(program: Program, paper: Path) -> None:
    assert "torch==2.14.1+cpu" in (paper / "constraints.txt").read_text().splitlines()
    active = program.with_(UV_CONSTRAINT=(paper / "constraints.txt").as_uri())
    assert change(active, "install", "paper", "needsold", "--torch").status == 0
    assert "torch==2.12.0+cpu" in (paper / "constraints.txt").read_text().splitlines()


@pytest.mark.skipif(importlib.util.find_spec("ensurepip") is None, reason="this Python has no pip")
@pytest.mark.slow
def test_an_environment_of_pip_s_is_changed_by_pip(program: Program, mirrors: tuple[str, ...]) -> None:
    words = (*CPU[:-1], "pip", "torchvision")
    assert program.run("create", "paper", *words, "--yes", "--json", *mirrors).status == 0
    paper = program.environments / "paper"
    done = change(program, "install", "paper", "mylib")
    assert done.status == 0, done.err
    assert done.data["steps"][0]["argv"][1:4] == ["-m", "pip", "install"]
    moved = change(program, "install", "paper", "needsold", "--torch")
    assert moved.status == 0, moved.err
    assert installed(paper) == {
        "torch": "2.12.0+cpu", "torchvision": "0.27.0+cpu", "mylib": "2.0", "tinydep": "2.0",
        "needsold": "1.0",
    }  # fmt: skip
    assert change(program, "uninstall", "paper", "mylib", "--prune").status == 0
    assert "tinydep" not in installed(paper)


@pytest.mark.slow
def test_another_torch_is_offered_on_a_terminal(program: Program, paper: Path) -> None:
    for answer, torch in (("n", "2.14.1+cpu"), ("y", "2.12.0+cpu")):
        shown = on_terminal(program, answer, "install", "paper", "needsold", "--no-verify")
        assert "torch changes from 2.14.1+cpu to 2.12.0+cpu" in shown
        assert "needsold==1.0 requires torch==2.12.0" in shown or "needsold requires torch==2.12.0" in shown
        assert installed(paper)["torch"] == torch


def on_terminal(program: Program, answer: str, *arguments: str) -> str:
    ours, theirs = pty.openpty()
    with program.start(*arguments, stdin=theirs) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        out, err = process.communicate(timeout=60)
    os.close(ours)
    return str(out + err)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_change_that_is_interrupted_leaves_what_was_there(
    program: Program, paper: Path, number: signal.Signals
) -> None:
    """The proof hangs while all is installed already; what was there before is back, or is brought back."""
    before = files(paper)
    hanging = program.with_(FAKE_TORCH=json.dumps({"faults": [["kernel", "cpu", "hang"]]}))
    with hanging.start("install", "paper", "mylib", "--yes") as process:
        wait_until(lambda: "mylib" in installed(paper) and record(paper)["verified"] is None)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    if number == signal.SIGKILL:
        done = program.run("uninstall", "paper", "mylib", "--yes", "--json")  # which is not there
        assert "mylib" not in installed(paper), (done.out, done.err)
    assert program.run("list", "--json").data["environments"][0]["verified"] is True
    assert files(paper) == before


@pytest.mark.slow
def test_one_command_at_a_time_changes_an_environment(program: Program, paper: Path) -> None:
    """The second waits for the first, or says that it was changed meanwhile; both leave it whole."""
    first = program.start("install", "paper", "mylib", "--yes", "--json")
    second = program.start("install", "paper", "tinydep<2", "--yes", "--json")
    ends = []
    for process in (first, second):
        process.communicate(timeout=60)
        ends.append(process.returncode)
    assert 0 in ends
    assert set(ends) <= {0, 2}
    assert program.run("verify", "paper").status == 0


@pytest.mark.slow
def test_on_a_gpu_a_cpu_build_never_comes_in(program: Program, mirrors: tuple[str, ...]) -> None:
    fake_nvidia_smi(program.bin, "570.133.07", FakeGpu("NVIDIA H100 PCIe", "9.0"))
    works = {"gpus": [["NVIDIA H100 PCIe", [9, 0]]], "architectures": ["sm_50", "sm_80", "sm_90"]}
    lab = program.with_(FAKE_TORCH=json.dumps(works))
    words = ("torch==2.14.1", "--python", PYTHON, "--manager", "uv")
    assert lab.run("create", "paper", *words, "--yes", "--json", *mirrors).status == 0
    paper = program.environments / "paper"
    done = change(lab, "install", "paper", "mylib")
    assert done.status == 0, done.err
    assert installed(paper)["torch"] == "2.14.1+cu126"
    refused = change(lab, "install", "paper", "needsold")
    assert refused.status in {3, 4}
    assert installed(paper)["torch"] == "2.14.1+cu126"


# --- conda's environments


@pytest.fixture
def condas(program: Program, paper: Path) -> Path:
    """Let the environment look as one of micromamba's, in which conda has installed tinydep."""
    assert change(program, "install", "paper", "tinydep<2").status == 0
    kept = record(paper)
    (paper / "gpuenv.json").write_text(json.dumps({**kept, "manager": "micromamba"}))
    (info,) = paper.glob("lib/*/site-packages/tinydep-*.dist-info")
    (info / "INSTALLER").write_text("conda\n")
    (paper / "conda-meta").mkdir()
    (paper / "conda-meta" / "history").write_text("")
    (paper / "conda-meta" / "tinydep-1.0-py_0.json").write_text("{}")
    return paper


@pytest.mark.slow
def test_what_conda_installed_stays_and_its_tool_is_named(program: Program, condas: Path) -> None:
    assert change(program, "install", "paper", "mylib").status == 0
    assert installed(condas)["tinydep"] == "1.0"
    before = files(condas)
    done = change(program, "install", "paper", "tinydep>=2")
    assert (done.status, done.error["code"]) == (2, "condas-package")
    assert done.error["fixes"][0]["command"] == f"micromamba install -p {condas} 'tinydep>=2'"
    done = change(program, "uninstall", "paper", "tinydep")
    assert (done.status, done.error["code"]) == (2, "condas-package")
    assert change(program, "update", "paper").data["changes"] == []
    assert files(condas) == before


@pytest.mark.slow
def test_a_conda_environment_is_exported_with_its_builds_and_its_wheels(
    program: Program, condas: Path
) -> None:
    assert change(program, "install", "paper", "mylib").status == 0
    done = program.run("export", "paper")
    assert done.status == 0, done.err
    lines = [line.strip() for line in done.out.splitlines()]
    for wanted in ("- tinydep 1.0 py_0", "- torch==2.14.1+cpu", "- mylib==2.0"):
        assert wanted in lines, done.out
