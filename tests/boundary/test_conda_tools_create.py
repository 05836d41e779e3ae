"""Making environments with conda tools: what is there at the end is what was planned, or nothing is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conda_making import PLAN, a_tool, make, solved
from fake_conda import Transcript, planned
from msgspec.structs import replace

from gpuenv.environments.conda.create import CondaRunning, check_conda_meta, create_environment
from gpuenv.environments.conda.meta import installed_names, is_conda_environment
from gpuenv.environments.conda.package_cache import busy_cache
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.tool import Calling, CondaTool
from gpuenv.model.errors import GpuenvError, InstallFailed, UsageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fakes are shell scripts")


@pytest.fixture
def calling(tmp_path: Path) -> Calling:
    return Calling({"PATH": "", "HOME": str(tmp_path)}, tmp_path / "cache")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return tmp_path / "envs" / "paper"


@pytest.fixture
def running(tmp_path: Path, calling: Calling) -> CondaRunning:
    return CondaRunning(calling, tmp_path / "log", every_s=0.01)


@pytest.mark.parametrize("tool", ["conda", "mamba", "micromamba"])
def test_a_made_environment_has_every_planned_package(
    tmp_path: Path, prefix: Path, running: CondaRunning, tool: Tool
) -> None:
    fake = a_tool(tmp_path, tool).makes(planned(PLAN, "micromamba"))
    made: list[bool] = []
    make(fake, replace(running, made=lambda: made.append(prefix.is_dir())), solved(prefix))
    assert is_conda_environment(prefix)
    assert installed_names(prefix)["pytorch"].build == "cuda128_mkl_py311_h128abc_300"
    assert made[-1] is True
    call = fake.calls[0]
    assert call.startswith(f"create -p {prefix} --override-channels -c conda-forge --strict-channel-priority")
    assert "--json -q -y" in call
    assert "--dry-run" not in call
    assert "success" in running.log.read_text(encoding="utf-8")


def test_exit_0_with_an_empty_environment_is_not_believed(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    """Trap 2: a lock that could not be had."""
    fake = a_tool(tmp_path, answer="mm-lock-timeout").makes(())
    with pytest.raises(InstallFailed) as caught:
        make(fake, running, solved(prefix))
    assert "another conda tool" in caught.value.fixes[0].text
    assert "LockFile" in caught.value.because[0].text
    assert not prefix.exists()


def test_exit_0_without_a_word_and_without_packages_is_not_believed(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    with pytest.raises(InstallFailed, match="reported success, but") as caught:
        make(a_tool(tmp_path).makes(planned(PLAN, "micromamba")[:1]), running, solved(prefix))
    assert caught.value.code == "not-as-planned"
    assert not prefix.exists()


def test_what_lies_elsewhere_is_looked_for_where_the_tool_says(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    fake = a_tool(tmp_path)
    elsewhere = tmp_path / "elsewhere" / prefix.name
    with pytest.raises(InstallFailed, match="packages are missing"):
        make(fake.answers("list", Transcript(0, "[", "")), running, solved(prefix))
    fake.makes(planned(PLAN, "micromamba"), "list")
    (fake.folder / "list.makes").rename(elsewhere.parent.parent / "meta")
    elsewhere.mkdir(parents=True)
    (tmp_path / "meta").rename(elsewhere / "conda-meta")
    (elsewhere / "bin").mkdir()
    (elsewhere / "bin" / "python").touch()
    listed = json.dumps({"envs": ["/data/t/*****/paper", str(tmp_path), str(elsewhere)]})
    with pytest.raises(InstallFailed) as caught:
        make(fake.answers("list", Transcript(0, listed, "")), running, solved(prefix))
    assert caught.value.code == "not-as-planned"
    assert str(elsewhere) in caught.value.message
    assert "env list --json" in fake.calls[-1]


def test_one_missing_package_is_one_too_many(tmp_path: Path, prefix: Path, running: CondaRunning) -> None:
    records = tuple(item for item in planned(PLAN, "micromamba") if item.name != "libzlib")
    with pytest.raises(InstallFailed, match="1 of 8 packages are missing: libzlib"):
        make(a_tool(tmp_path).makes(records), running, solved(prefix))


def test_the_empty_directory_that_gpuenv_made_is_out_of_the_way(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    """Micromamba refuses a directory that it did not make."""
    prefix.mkdir(parents=True)
    make(a_tool(tmp_path).makes(planned(PLAN, "micromamba")), running, solved(prefix))
    assert is_conda_environment(prefix)


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("micromamba", "MM-pip-fail"),
        ("micromamba", "mm-corrupt"),
        ("micromamba", "mm-nonenv"),
        ("conda", "conda-pip-fail"),
        ("conda", "conda-corrupt"),
    ],
)
def test_a_failure_leaves_nothing_whatever_the_json_says(
    tmp_path: Path, prefix: Path, running: CondaRunning, tool: Tool, answer: str
) -> None:
    """Trap 3: success in the JSON at exit 1, with a whole environment left behind."""
    fake = a_tool(tmp_path, tool, answer).makes(planned(PLAN, "micromamba"))
    with pytest.raises(InstallFailed) as caught:
        make(fake, running, solved(prefix))
    assert caught.value.code == "install-failed"
    assert caught.value.because[0].text
    assert not prefix.exists()


def test_failure_at_exit_0_is_not_believed_either(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    fake = a_tool(tmp_path, answer=Transcript(0, '{"success": false}', "critical libmamba it went wrong"))
    with pytest.raises(InstallFailed) as caught:
        make(fake.makes(planned(PLAN, "micromamba")), running, solved(prefix))
    assert caught.value.because[0].text == "it went wrong"


@pytest.mark.parametrize(("tool", "answer"), [("conda", "conda-nospace"), ("micromamba", "mm-nospace")])
def test_a_full_disk_is_told(
    tmp_path: Path, prefix: Path, running: CondaRunning, tool: Tool, answer: str
) -> None:
    with pytest.raises(InstallFailed) as caught:
        make(a_tool(tmp_path, tool, answer), running, solved(prefix))
    assert caught.value.code == "disk-full"


def test_a_cpu_build_in_place_of_the_planned_one_is_not_believed(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    """Trap 5: at exit 0."""
    records = tuple(
        replace(item, build="cpu_mkl_py311_h1abc_100") if item.name == "pytorch" else item
        for item in planned(PLAN, "micromamba")
    )
    with pytest.raises(InstallFailed, match=r"pytorch 2\.8\.0 cuda128"):
        make(a_tool(tmp_path).makes(records), running, solved(prefix))
    assert not prefix.exists()


def test_a_record_that_says_otherwise_than_its_name_is_not_believed(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    records = planned(PLAN, "micromamba")
    fake = a_tool(tmp_path).makes(records)
    file = next((fake.folder / "make.makes").glob("pytorch-2*"))
    file.write_text(file.read_text(encoding="utf-8").replace("cuda128", "cpu"), encoding="utf-8")
    with pytest.raises(InstallFailed, match="is a build for the CPU"):
        make(fake, running, solved(prefix))


@pytest.mark.parametrize("there", ["conda-meta/history", "notes.txt"])
@pytest.mark.parametrize("tool", ["conda", "micromamba"])
def test_what_is_there_is_never_handed_to_a_tool(
    tmp_path: Path, prefix: Path, running: CondaRunning, tool: Tool, there: str
) -> None:
    """Trap 1: conda and micromamba delete an environment, conda installs into any directory."""
    (prefix / there).parent.mkdir(parents=True)
    (prefix / there).write_text("mine", encoding="utf-8")
    fake = a_tool(tmp_path, tool)
    with pytest.raises(UsageError) as caught:
        make(fake, running, solved(prefix))
    assert caught.value.code == "environment-exists"
    assert (prefix / there).read_text(encoding="utf-8") == "mine"
    assert fake.calls == []


def test_a_link_to_an_empty_directory_is_not_taken_for_one(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    prefix.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    prefix.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError):
        make(a_tool(tmp_path), running, solved(prefix))
    assert prefix.is_symlink()


@pytest.mark.parametrize("folder", ["", "https/u:*****@h.example%3A8080/t/*****/conda-forge/linux-64"])
def test_progress_is_read_off_the_package_cache(
    tmp_path: Path, prefix: Path, running: CondaRunning, folder: str
) -> None:
    """Trap 13: on a pipe the tools tell nothing."""
    records = tuple(item for item in planned(PLAN, "micromamba") if item.name in {"pytorch", "python"})
    total = sum(record.size or 0 for record in records)
    cache = tmp_path / "pkgs" / folder
    cache.mkdir(parents=True)
    torch = next(record for record in records if record.name == "pytorch")
    (cache / f"{torch.filename}.part").write_bytes(b"x" * 100)
    fake = a_tool(tmp_path).makes(planned(PLAN, "micromamba")).hangs()
    seen: list[tuple[int, int]] = []

    def look(there: int, all_of_it: int) -> None:
        seen.append((there, all_of_it))
        if there == 100:
            (cache / f"{torch.filename}.part").rename(cache / torch.filename)
            (cache / torch.filename).write_bytes(b"x" * (torch.size or 0))
            (fake.folder / "let-go").touch()

    (tmp_path / "pkgs" / "https" / "other.example" / "linux-64").mkdir(parents=True)
    (tmp_path / "pkgs" / "https" / "other.example" / "linux-64" / torch.filename).write_bytes(
        b"x" * (torch.size or 0)
    )
    make(fake, replace(running, caches=(str(tmp_path / "pkgs"),), progress=look), solved(prefix, records))
    assert seen[0] == (100, total)
    assert seen[-1] == (total, total)


def test_a_tool_that_can_not_be_started_is_told(prefix: Path, running: CondaRunning) -> None:
    with pytest.raises(InstallFailed, match="could not be started"):
        create_environment(CondaTool("conda", str(prefix / "gone")), solved(prefix), running, "linux")


def test_an_environment_is_checked_again_later(tmp_path: Path, prefix: Path, running: CondaRunning) -> None:
    plan = solved(prefix)
    make(a_tool(tmp_path).makes(plan.records), running, plan)
    check_conda_meta(prefix, plan.records, plan.wanted.pins, "linux", running.log)
    (prefix / "bin" / "python").unlink()
    with pytest.raises(GpuenvError, match="no interpreter"):
        check_conda_meta(prefix, plan.records, plan.wanted.pins, "linux", running.log)


def test_what_a_killed_tool_leaves_is_no_environment(tmp_path: Path) -> None:
    """Trap 12: an empty `history` is all that `conda env list` wants to see."""
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "history").touch()
    assert not is_conda_environment(tmp_path)


def test_when_all_is_fetched_the_packages_are_counted(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    fake = a_tool(tmp_path).makes(planned(PLAN, "micromamba")).hangs()
    seen: list[tuple[str, int, int]] = []

    def look(text: str, done: int, total: int) -> None:
        seen.append((text, done, total))
        if done == total:
            (fake.folder / "let-go").touch()

    make(fake, replace(running, phase=look), solved(prefix))
    count = len(planned(PLAN, "micromamba"))
    assert seen[-1] == ("installing packages", count, count)


@pytest.mark.skipif(sys.platform != "linux", reason="locks of Linux")
def test_a_cache_that_another_mamba_has_locked_is_told(tmp_path: Path) -> None:
    """As libmamba locks it: one byte of `pkgs/pkgs.lock`, by fcntl."""
    cache, free = tmp_path / "pkgs", tmp_path / "free"
    cache.mkdir()
    assert busy_cache((free, cache)) is None
    (cache / "pkgs.lock").touch()
    assert busy_cache((free, cache)) is None
    code = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX, 1, 21);"
        "print('locked', flush=True); input()"
    )
    words = (sys.executable, "-c", code, str(cache / "pkgs.lock"))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        assert busy_cache((free, cache)) == cache
        holder.communicate("\n", timeout=30)
    assert busy_cache((free, cache)) is None
