"""Creating: what was asked for is there and recorded, or what was there before is back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from installers import a_plan, behave, calls, fake_uv, make_wheel, plan_data
from msgspec.structs import replace
from sampling import every
from waiting import wait_until

from gpuenv.environments.listing import find_environment
from gpuenv.environments.record import parse_record
from gpuenv.installers import InstallRequest, pip, uv
from gpuenv.model.errors import InstallFailed, UsageError
from gpuenv.model.plan import Sources
from gpuenv.operations.create import CreateResult, Options, Verified, Verify, check_name, create
from gpuenv.operations.find import existing, list_all
from gpuenv.operations.interrupted_change import mend, place_at
from gpuenv.operations.manage import remove

HERE = Path(__file__).parent
posix = pytest.mark.skipif(os.name != "posix", reason="signals and modes of POSIX")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def environ(data: Path) -> dict[str, str]:
    return {"GPUENV_DATA_DIR": str(data), "PATH": "", "HOME": str(data.parent)}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return fake_uv(tmp_path / "programs")


Make = Callable[..., CreateResult]


@pytest.fixture
def make(environ: dict[str, str], data: Path, program: Path) -> Make:
    def make_it(name: str = "paper", *, force: bool = False, verify: Verify | None = None) -> CreateResult:
        target = Path(name) if os.sep in name else data / "envs" / name
        options = Options(force=force, show=False, wait_s=0, executables={"uv": str(program)})
        return create(name, a_plan(target), plan_data(), environ=environ, verify=verify, options=options)

    return make_it


def passing(_: Path) -> Verified:
    return Verified(ok=True, data={"torch": "9.9.9"})


def failing(_: Path) -> Verified:
    return Verified(ok=False, data={"torch": None})


def generation(path: Path) -> str:
    return (path / "generation").read_text(encoding="utf-8")


def remains(data: Path) -> list[str]:
    """What lies about besides whole environments."""
    beside = [path.name for path in (data / "envs").glob(".*")] if (data / "envs").exists() else []
    journals = [path.name for path in (data / "journals").glob("*")]
    markers = [str(path) for path in (data / "envs").glob("*/.gpuenv*")]
    return beside + journals + markers


def test_a_created_environment_has_its_plan_machine_and_verify_report(make: Make, data: Path) -> None:
    made = make(verify=passing)
    record = parse_record((made.path / "gpuenv.json").read_text(encoding="utf-8"))
    assert record.verified is True
    assert record.verify == {"torch": "9.9.9"}
    assert record.plan == plan_data()
    assert record.machine == {"system": {"os": "here"}}
    assert made.python == made.path / "bin" / "python"
    assert remains(data) == []


def test_the_installers_words_are_in_the_log(make: Make, data: Path) -> None:
    log = make().log
    assert log.parent == data / "logs"
    assert "pip install --python" in log.read_text(encoding="utf-8")


def test_verify_runs_when_the_environment_is_already_whole(make: Make, environ: dict[str, str]) -> None:
    seen = []

    def look(python: Path) -> Verified:
        seen.append((python.exists(), find_environment("paper", environ)))
        return Verified(ok=True, data={})

    make(verify=look)
    assert seen[0][0]
    assert seen[0][1] is not None


def test_a_failed_verify_keeps_a_fresh_environment_and_says_so(make: Make, environ: dict[str, str]) -> None:
    made = make(verify=failing)
    assert not made.restored
    environment = find_environment("paper", environ)
    assert environment is not None
    assert environment.record.verified is False


def test_a_failed_step_leaves_nothing_and_shows_the_last_lines(make: Make, program: Path, data: Path) -> None:
    behave(program, install="fail")
    with pytest.raises(InstallFailed) as raised:
        make()
    assert raised.value.code == "install-failed"
    assert "it went wrong" in raised.value.because[0].text
    assert Path(raised.value.because[0].source).exists()
    assert not (data / "envs" / "paper").exists()
    assert remains(data) == []


def test_a_program_that_is_not_there_is_a_failed_step(environ: dict[str, str], data: Path) -> None:
    options = Options(show=False, executables={"uv": "/nowhere/uv"})
    with pytest.raises(InstallFailed, match="could not be started"):
        create("paper", a_plan(data / "envs" / "paper"), plan_data(), environ=environ, options=options)
    assert remains(data) == []


def test_another_torch_than_planned_is_a_failure(make: Make, program: Path, data: Path) -> None:
    behave(program, torch="9.9.9")  # the plain build in place of +cpu
    with pytest.raises(InstallFailed) as raised:
        make()
    assert raised.value.code == "not-as-planned"
    assert "9.9.9+cpu" in raised.value.message
    assert not (data / "envs" / "paper").exists()


def test_an_existing_name_is_refused_before_anything_runs(make: Make, program: Path) -> None:
    make()
    before = len(calls(program))
    with pytest.raises(UsageError) as raised:
        make()
    assert raised.value.code == "environment-exists"
    assert "--force" in raised.value.fixes[0].text
    assert len(calls(program)) == before


def test_force_replaces_an_environment(make: Make, program: Path, data: Path) -> None:
    make()
    behave(program, generation="second")
    made = make(force=True, verify=passing)
    assert generation(made.path) == "second"
    assert remains(data) == []


@pytest.mark.parametrize("step", ["venv", "install"])
def test_a_failure_with_force_brings_the_old_one_back(
    make: Make, program: Path, data: Path, step: str
) -> None:
    made = make(verify=passing)
    record = (made.path / "gpuenv.json").read_bytes()
    behave(program, generation="second", **{step: "fail"})
    with pytest.raises(InstallFailed):
        make(force=True)
    assert generation(made.path) == "new"
    assert (made.path / "gpuenv.json").read_bytes() == record
    assert remains(data) == []


def test_a_failed_verify_with_force_brings_the_old_one_back(make: Make, program: Path, data: Path) -> None:
    made = make(verify=passing)
    behave(program, generation="second")
    result = make(force=True, verify=failing)
    assert result.restored
    assert generation(made.path) == "new"
    assert remains(data) == []


def test_a_verify_that_raises_with_force_brings_the_old_one_back(
    make: Make, program: Path, data: Path
) -> None:
    made = make()
    behave(program, generation="second")

    def interrupted(_: Path) -> Verified:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(force=True, verify=interrupted)
    assert generation(made.path) == "new"
    assert remains(data) == []


@pytest.mark.parametrize("force", [False, True])
def test_a_directory_that_is_no_environment_is_never_touched(make: Make, data: Path, *, force: bool) -> None:
    precious = data / "envs" / "paper" / "thesis.tex"
    precious.parent.mkdir(parents=True)
    precious.write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        make(force=force)
    assert raised.value.code == "not-an-environment"
    assert precious.read_text(encoding="utf-8") == "years of work"


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_file_or_link_in_the_place_is_never_touched(
    make: Make, data: Path, tmp_path: Path, kind: str
) -> None:
    there = data / "envs" / "paper"
    there.parent.mkdir(parents=True)
    if kind == "file":
        there.write_text("mine", encoding="utf-8")
    else:
        (tmp_path / "elsewhere").mkdir()
        there.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError):
        make(force=True)
    assert os.path.lexists(there)


def test_an_empty_directory_is_free_and_comes_back_on_failure(
    make: Make, program: Path, tmp_path: Path
) -> None:
    target = tmp_path / "work" / "env"
    target.mkdir(parents=True)
    behave(program, install="fail")
    with pytest.raises(InstallFailed):
        make(str(target))
    assert list((tmp_path / "work").iterdir()) == [target]
    behave(program)
    assert make(str(target), verify=failing).restored is False
    assert generation(target) == "new"


def test_an_environment_at_a_path_is_listed_and_removed(
    make: Make, environ: dict[str, str], tmp_path: Path
) -> None:
    target = tmp_path / "work" / "env"
    make(str(target))
    assert [environment.paths.path for environment in list_all(environ)] == [target]
    remove(str(target), environ)
    assert list_all(environ) == ()
    assert list((tmp_path / "work").iterdir()) == []


def test_check_name_refuses_early_what_create_would_refuse(make: Make, environ: dict[str, str]) -> None:
    make()
    with pytest.raises(UsageError, match="already"):
        check_name("paper", environ=environ, force=False)
    assert check_name("paper", environ=environ, force=True).name == "paper"


def test_more_bytes_than_free_is_a_refusal_that_names_both(environ: dict[str, str], data: Path) -> None:
    plan = a_plan(data / "envs" / "paper")
    huge = replace(plan, packages=(replace(plan.packages[0], size=10**18),))
    with pytest.raises(InstallFailed) as raised:
        create("paper", huge, plan_data(), environ=environ, options=Options(show=False, executables={}))
    assert raised.value.code == "disk-full"
    assert remains(data) == []


@posix
@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may write anywhere")
def test_a_read_only_place_is_told(make: Make, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    with pytest.raises(InstallFailed) as raised:
        make(str(closed / "env"))
    assert raised.value.code == "not-writable"


def test_a_place_below_a_file_is_told(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InstallFailed) as raised:
        make(str(tmp_path / "file" / "env"))
    assert raised.value.code == "not-writable"


def test_a_data_directory_that_is_a_file_is_told(tmp_path: Path, program: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("", encoding="utf-8")
    environ = {"GPUENV_DATA_DIR": str(blocked), "PATH": ""}
    with pytest.raises(UsageError) as raised:
        create(
            "paper",
            a_plan(blocked / "envs" / "paper"),
            plan_data(),
            environ=environ,
            options=Options(show=False, executables={"uv": str(program)}),
        )
    assert raised.value.code == "data-dir-unwritable"


# --- processes that are ended


def start(
    environ: dict[str, str], program: Path, *, force: bool = False, verify: str = ""
) -> subprocess.Popen[bytes]:
    path = os.pathsep.join((str(HERE), *sys.path))
    return subprocess.Popen(
        [sys.executable, str(HERE / "creating.py"), "paper", str(program), "force" if force else "", verify],
        env={**environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def is_mended(environ: dict[str, str], data: Path) -> bool:
    """Do what `doctor --fix` does, and tell whether nobody was at work any more."""
    try:
        return mend(place_at(data / "envs" / "paper", environ))
    except UsageError as error:
        if error.code != "environment-busy":
            raise
        return False


def wait_for_hang(program: Path) -> str:
    file = program.with_name("hanging")
    wait_until(lambda: file.exists() and file.read_text(encoding="utf-8") != "")
    return file.read_text(encoding="utf-8")


def end(child: subprocess.Popen[bytes], number: int) -> int:
    child.send_signal(number)
    child.communicate(timeout=60)
    return child.returncode


@posix
@pytest.mark.parametrize("step", ["venv", "install"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_create_leaves_nothing(
    environ: dict[str, str], program: Path, data: Path, step: str, number: int
) -> None:
    behave(program, **{step: "hang"})
    child = start(environ, program)
    wait_for_hang(program)
    assert end(child, number) == 130
    assert list((data / "envs").iterdir()) == []
    assert remains(data) == []


@posix
def test_an_interrupted_create_with_force_brings_the_old_one_back(
    make: Make, environ: dict[str, str], program: Path, data: Path
) -> None:
    made = make()
    behave(program, generation="second", install="hang")
    child = start(environ, program, force=True)
    wait_for_hang(program)
    assert generation(made.path) == "second"
    assert end(child, signal.SIGINT) == 130
    assert generation(made.path) == "new"
    assert remains(data) == []


@posix
@pytest.mark.parametrize("step", ["venv", "install"])
def test_what_a_killed_create_left_is_undone_by_doctor(
    environ: dict[str, str], program: Path, data: Path, step: str
) -> None:
    behave(program, **{step: "hang"})
    child = start(environ, program)
    wait_for_hang(program)
    end(child, signal.SIGKILL)
    assert (data / "envs" / "paper").exists()
    program.with_name("let-go").touch()
    assert list_all(environ) == ()
    assert (data / "envs" / "paper").exists()
    wait_until(lambda: is_mended(environ, data))
    assert remains(data) == []
    assert list((data / "envs").iterdir()) == []


@posix
@pytest.mark.parametrize("step", ["venv", "install", "verify"])
def test_what_a_killed_create_with_force_replaced_comes_back(
    make: Make, environ: dict[str, str], program: Path, data: Path, step: str
) -> None:
    made = make(verify=passing)
    behave(program, generation="second", **({} if step == "verify" else {step: "hang"}))
    child = start(environ, program, force=True, verify="hang" if step == "verify" else "")
    wait_for_hang(program)
    end(child, signal.SIGKILL)
    assert generation(made.path) == "second"
    program.with_name("let-go").touch()
    assert list_all(environ) == ()
    with pytest.raises(UsageError) as raised:
        existing("paper", environ)
    assert raised.value.code in {"change-interrupted", "environment-busy"}
    assert generation(made.path) == "second"
    wait_until(lambda: is_mended(environ, data))
    assert [environment.record.verified for environment in list_all(environ)] == [True]
    assert generation(made.path) == "new"
    assert remains(data) == []


@pytest.mark.slow
@posix
def test_an_installer_ends_with_a_gpuenv_that_is_killed(
    environ: dict[str, str], program: Path, make: Make
) -> None:
    """It hangs, and nobody lets it go: the next create would wait for it."""
    behave(program, install="hang")
    child = start(environ, program)
    wait_for_hang(program)
    end(child, signal.SIGKILL)
    behave(program)

    def made() -> bool:
        try:
            return make() is not None
        except UsageError:
            return False

    wait_until(made)


@posix
def test_the_second_of_two_creates_is_told(
    environ: dict[str, str], program: Path, make: Make, data: Path
) -> None:
    behave(program, install="hang")
    first = start(environ, program)
    wait_for_hang(program)
    with pytest.raises(UsageError) as raised:
        make(force=True)
    assert raised.value.code == "environment-busy"
    assert list_all(environ) == ()
    with pytest.raises(UsageError):
        remove("paper", environ, wait_s=0)
    program.with_name("let-go").touch()
    first.communicate(timeout=60)
    assert first.returncode == 0
    assert generation(data / "envs" / "paper") == "new"


@pytest.mark.slow
@posix
def test_a_directory_made_by_hand_after_a_kill_is_not_removed(
    environ: dict[str, str], program: Path, data: Path
) -> None:
    import shutil  # noqa: PLC0415

    behave(program, install="hang")
    child = start(environ, program)
    wait_for_hang(program)
    end(child, signal.SIGKILL)
    program.with_name("let-go").touch()
    shutil.rmtree(data / "envs" / "paper")
    precious = data / "envs" / "paper" / "thesis.tex"
    precious.parent.mkdir()
    precious.touch()
    wait_until(lambda: is_mended(environ, data))
    assert list_all(environ) == ()
    assert precious.exists()


@pytest.mark.slow
@posix
@pytest.mark.parametrize("scenario", every(5, ("create", "force", "unverified", "failing", "remove")))
def test_a_kill_before_any_change_to_the_disk_leaves_all_of_one_environment_or_none(
    tmp_path: Path, scenario: str
) -> None:
    """The driver is killed before its first change to the disk, before its second, until it gets through."""
    done = subprocess.run(
        [sys.executable, str(HERE / "crashing.py"), str(tmp_path), scenario],
        env={"PYTHONPATH": os.pathsep.join((str(HERE), *sys.path)), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 8


# --- real installers


def wheelhouse(tmp_path: Path) -> Path:
    return make_wheel(
        tmp_path / "wheels", "torch", "9.9.9+cpu", {"torch/version.py": "cuda: Optional[str] = None\n"}
    ).parent


def real_environ(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return {**os.environ, **environ, "PATH": os.environ["PATH"], "UV_CACHE_DIR": str(tmp_path / "cache")}


@pytest.mark.slow
@pytest.mark.parametrize("manager", [uv, pip])
def test_a_real_installer_does_what_the_steps_say(
    environ: dict[str, str], tmp_path: Path, data: Path, manager: object
) -> None:
    name = manager.NAME  # type: ignore[attr-defined]
    target = data / "envs" / "trial"
    sources = Sources(None, (), (str(wheelhouse(tmp_path)),), no_index=True)
    wanted = InstallRequest(
        ("torch==9.9.9+cpu",), (), (), sources, f"{sys.version_info[0]}.{sys.version_info[1]}",
        sys.executable, str(target), "windows" if os.name == "nt" else "linux",
    )  # fmt: skip
    plan = a_plan(target, steps=manager.steps(wanted), manager=name)  # type: ignore[attr-defined]
    made = create(
        "trial",
        plan,
        plan_data(),
        environ=real_environ(environ, tmp_path),
        verify=lambda python: Verified(ok=_imports(python), data={}),
        options=Options(show=False),
    )
    assert made.verified == Verified(ok=True, data={})
    assert json.loads((target / "gpuenv.json").read_text(encoding="utf-8"))["manager"] == name


def _imports(python: Path) -> bool:
    code = "import torch; print(torch.__version__)"
    process = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return process.stdout.strip() == "9.9.9+cpu"


def test_a_build_for_another_cuda_than_planned_is_a_failure(
    environ: dict[str, str], tmp_path: Path, data: Path
) -> None:
    target = data / "envs" / "trial"
    sources = Sources(None, (), (str(wheelhouse(tmp_path)),), no_index=True)
    wanted = InstallRequest(
        ("torch==9.9.9+cpu",), (), (), sources, "3.12", sys.executable, str(target), "linux"
    )
    plan = a_plan(target, steps=uv.steps(wanted), variant="cu126")
    with pytest.raises(InstallFailed, match="for cpu, not for cu126"):
        create(
            "trial", plan, plan_data(), environ=real_environ(environ, tmp_path), options=Options(show=False)
        )
    assert not target.exists()


def test_real_uvs_own_words_are_shown_when_it_fails(
    environ: dict[str, str], tmp_path: Path, data: Path
) -> None:
    target = data / "envs" / "trial"
    sources = Sources(None, (), (str(wheelhouse(tmp_path)),), no_index=True)
    wanted = InstallRequest(
        ("torch==1.0+cpu",), (), (), sources, "3.12", sys.executable, str(target), "linux"
    )
    with pytest.raises(InstallFailed) as raised:
        create(
            "trial",
            a_plan(target, steps=uv.steps(wanted)),
            plan_data(),
            environ=real_environ(environ, tmp_path),
            options=Options(show=False),
        )
    assert "torch==1.0+cpu" in raised.value.because[0].text
    assert remains(data) == []
