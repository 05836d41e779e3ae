"""`create` with micromamba: the environment lies in the tool's own folder, and is found there by its name."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conda_mirror import serve_mirror, with_mirror
from conda_world import make_world
from foreign_conda import conda_environment
from index_server import IndexServer
from micromamba import Micromamba, write_micromamba
from running import Done, Program
from serving import Site
from tiny_wheels import tiny_wheel

pytest.importorskip("rattler")

pytestmark = pytest.mark.slow

CPU = ("--cuda", "cpu", "--python", "3.11")
GPU = ("--driver", "570.133.07", "--gpu", "8.6", "--python", "3.11", "--no-verify")
ASKED = (
    "torch", "--manager", "micromamba", "--channel", "conda-forge", "--mirror", "lab", "--yes", "--json",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """conda-forge's torch 2.8 as small packages."""
    world = make_world(
        keep=lambda row: row["torch"] == "2.8.0" and row["channel"] == "conda-forge",
        scratch=tmp_path_factory.mktemp("world"),
    )
    with serve_mirror(world) as item:
        yield item


@pytest.fixture
def user(program: Program, site: Site) -> Program:
    return with_mirror(program, site)


@pytest.fixture
def tool(user: Program) -> Micromamba:
    return write_micromamba(user.bin, user.home / "micromamba")


def create(user: Program, *more: str) -> Done:
    return user.run("create", "trial", *ASKED, *more)


def made(user: Program, *more: str) -> Path:
    """Create it, and return where it is."""
    done = create(user, *more)
    assert done.status == 0, done.out + done.err
    return Path(done.data["environment"]["path"])


def left(user: Program, tool: Micromamba) -> list[Path]:
    """What lies where environments could."""
    places = (tool.environments, user.environments)
    return [path for location in places if location.is_dir() for path in location.iterdir()]


def test_it_lives_from_create_to_remove_in_the_tools_own_folder(user: Program, tool: Micromamba) -> None:
    done = create(user, *CPU)
    assert done.status == 0, done.out + done.err
    path = tool.environments / "trial"
    assert done.data["environment"]["path"] == str(path)
    assert done.data["manager"] == "micromamba"
    assert done.data["verify"]["devices"][0]["ok"]
    (listed,) = user.run("list", "--json").data["environments"]
    assert (listed["name"], listed["path"], listed["manager"]) == ("trial", str(path), "micromamba")
    ran = user.run("run", "trial", "--", "python", "-c", "import sys, torch; print(sys.prefix)")
    assert (ran.status, ran.out.strip()) == (0, str(path))
    assert user.run("verify", "trial", "--json").status == 0
    removed = user.run("remove", "trial", "--yes")
    assert removed.status == 0, removed.out + removed.err
    assert left(user, tool) == []


def test_it_is_one_plan_and_one_create_of_names_that_a_condarc_leads_to_the_mirror(
    user: Program, tool: Micromamba, site: Site
) -> None:
    made(user, *GPU)
    requested, plan, make = tool.calls
    assert requested == "info --json"
    assert "--dry-run" in plan
    assert "--dry-run" not in make
    assert f"create -p {tool.environments / 'trial'} --override-channels -c conda-forge" in make
    assert site.url not in make
    assert f'conda-forge: "{site.url}/anaconda/cloud"' in tool.condarc
    assert "repodata_use_shards: false" in tool.condarc  # the mirror does not say that it has any


def test_it_is_solved_once_and_the_history_has_what_was_asked_for(user: Program, tool: Micromamba) -> None:
    path = made(user, *GPU)
    _, plan, make = tool.calls
    assert "--file" in make
    assert not any(spec in make for spec in plan.split() if "pytorch" in spec)
    (specs,) = [
        line for line in (path / "conda-meta" / "history").read_text().splitlines() if "specs" in line
    ]
    assert specs.startswith('# update specs: ["python 3.11.*", ')
    assert '"pytorch 2.8.0 cuda' in specs
    assert "numpy" not in specs  # nobody asked for it


def test_an_existing_one_is_kept_without_force(user: Program, tool: Micromamba) -> None:
    mine = made(user, *CPU) / "mine"
    mine.write_text("kept")
    calls = tool.calls
    taken = create(user, *CPU)
    assert (taken.status, taken.error["code"]) == (2, "environment-exists")
    assert mine.read_text() == "kept"
    assert tool.calls == calls
    made(user, *CPU, "--force")
    assert not mine.exists()


def test_one_that_gpuenv_did_not_make_is_kept_too(user: Program, tool: Micromamba) -> None:
    """Micromamba itself would delete it without a word."""
    history = tool.environments / "trial" / "conda-meta" / "history"
    history.parent.mkdir(parents=True)
    history.write_text("mine")
    taken = create(user, *CPU)
    assert (taken.status, taken.error["code"]) == (2, "environment-exists")
    assert history.read_text() == "mine"
    assert tool.calls == ["info --json"]


def test_it_is_replaced_after_a_yes_of_its_own_and_exported(user: Program, tool: Micromamba) -> None:
    theirs = conda_environment(tool.environments / "trial", numpy="1.0 py311_0")
    refused = create(user, *CPU, "--force")
    assert (refused.status, refused.error["code"]) == (2, "foreign-environment")
    words = ("create", "trial", *(word for word in ASKED if word not in ("--yes", "--json")), *CPU, "--force")
    for answer, status in ((b"n\n", 130), (b"y\n", 0)):
        ours, terminal = pty.openpty()
        process = user.start(*words, stdin=terminal, start_new_session=True)
        os.write(ours, answer + b"y\n")
        out, err = process.communicate(timeout=120)
        os.close(ours)
        os.close(terminal)
        assert process.returncode == status, err
        assert "1 packages of conda" in err
        assert "replace it?" in err
        assert (theirs / "conda-meta" / "numpy-1.0-py311_0.json").exists() is (answer == b"n\n")
    (export,) = (user.environments.parent / "exports").iterdir()
    assert "numpy=1.0=py311_0" in export.read_text()
    assert str(export) in err
    assert "micromamba activate trial\n" in out


@pytest.mark.parametrize("failure", ["the tool fails", "verify fails"])
def test_with_force_a_failure_brings_the_old_one_back(user: Program, tool: Micromamba, failure: str) -> None:
    path = made(user, *CPU)
    (path / "mine").write_text("kept")
    if failure == "the tool fails":
        tool.does(fails=True)
        failed = create(user, *CPU, "--force")
        assert (failed.status, failed.error["code"]) == (5, "disk-full"), failed.out + failed.err
    else:
        broken = user.with_(FAKE_TORCH=json.dumps({"faults": [["matmul", "cpu", "wrong"]]}))
        assert create(broken, *CPU, "--force").status == 6
    assert (path / "mine").read_text() == "kept"
    assert left(user, tool) == [path]
    assert user.run("run", "trial", "--", "python", "-c", "import torch").status == 0


def test_ctrl_c_ends_a_tool_that_solves(user: Program, tool: Micromamba) -> None:
    tool.does(thinks=True)
    with user.start("create", "trial", *ASKED, *CPU) as process:
        ends = time.monotonic() + 60
        while not tool.waits and process.poll() is None and time.monotonic() < ends:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    done = Done(process.returncode, out, err)
    assert (done.status, done.error["code"]) == (130, "interrupted"), out + err
    assert left(user, tool) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_one_leaves_nothing(user: Program, tool: Micromamba, number: signal.Signals) -> None:
    tool.does(stops=True)
    with user.start("create", "trial", *ASKED, *CPU) as process:
        ends = time.monotonic() + 60
        while not tool.waits and process.poll() is None and time.monotonic() < ends:
            time.sleep(0.02)
        assert (tool.environments / "trial" / "conda-meta" / "history").is_file()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    done = Done(process.returncode, out, err)
    assert (done.status, done.error["code"]) == (130, "interrupted"), out + err
    assert left(user, tool) == []
    assert user.run("list", "--json").data["environments"] == []


def test_a_cpu_build_in_place_of_the_planned_one_is_refused_before_anything_is_made(
    user: Program, tool: Micromamba
) -> None:
    tool.does(cpu=True)
    refused = create(user, *GPU)
    assert (refused.status, refused.error["code"]) == (3, "solved-to-cpu"), refused.out + refused.err
    assert "cpu" in refused.error["because"][0]["text"]
    assert left(user, tool) == []
    assert not any("--dry-run" not in call for call in tool.calls if call.startswith("create"))


def test_with_force_a_refused_solve_leaves_the_old_one(user: Program, tool: Micromamba) -> None:
    path = made(user, *GPU)
    (path / "mine").write_text("kept")
    tool.does(cpu=True)
    assert create(user, *GPU, "--force").status == 3
    assert (path / "mine").read_text() == "kept"
    assert left(user, tool) == [path]


def test_a_folder_of_the_tools_that_can_not_be_written_is_passed_over(
    user: Program, tool: Micromamba
) -> None:
    """As conda does; with no other folder gpuenv keeps the environment itself."""
    tool.environments.parent.mkdir(parents=True)
    tool.environments.write_text("no folder")
    assert made(user, *CPU, "--no-verify") == user.environments / "trial"


def test_where_a_wheel_beside_it_fails_nothing_is_left(
    user: Program, tool: Micromamba, server: IndexServer, tmp_path: Path
) -> None:
    """Trap 3: each tool leaves the environment behind where pip fails."""
    wheel = tiny_wheel(tmp_path, "mylib", "2.0")
    requested = ("mylib", *CPU, "--mirror", server.pypi, "--find-links", str(tmp_path / "house"))
    without_record(wheel, tmp_path / "house")
    failed = create(user, *requested)
    assert (failed.status, failed.error["code"]) == (5, "install-failed"), failed.out + failed.err
    assert any("--dry-run" not in call for call in tool.calls if call.startswith("create"))
    assert left(user, tool) == []
    shutil.copy(wheel, tmp_path / "house")
    packages = made(user, *requested) / "lib" / "python3.11" / "site-packages"
    assert (packages / "mylib-2.0.dist-info").is_dir()


def without_record(wheel: Path, directory: Path) -> None:
    """Write a wheel that can be planned with, but not installed."""
    directory.mkdir()
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(directory / wheel.name, "w") as less:
        for member in whole.namelist():
            if not member.endswith("/RECORD"):
                less.writestr(member, whole.read(member))
