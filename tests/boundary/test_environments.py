"""List, run and remove the environments that gpuenv made; and what the managers read from real programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from entering import handlers_kept, run_inside
from installers import a_plan, fake_uv, make_wheel, plan_data

from gpuenv.activation.entering import activated, run
from gpuenv.installers import pip, uv
from gpuenv.installers.uv_compile import CompileInput, Resolved, compile_requirements
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import UsageError
from gpuenv.model.machine import FoundPython
from gpuenv.model.plan import Sources
from gpuenv.operations.create import Options, Verified, create
from gpuenv.operations.find import list_all, render_environment, unreadable
from gpuenv.operations.manage import remove

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def commands_have_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep a command that is run from replacing the process of these tests."""

    def execve(program: str, argv: list[str], environ: dict[str, str]) -> int:
        code = subprocess.run(argv, executable=program, env=environ, check=False).returncode
        return 128 - code if code < 0 else code

    monkeypatch.setattr(os, "execve", execve)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
    handlers = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"GPUENV_DATA_DIR": str(tmp_path / "data"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}


@pytest.fixture
def paper(environ: dict[str, str], tmp_path: Path) -> Path:
    """Return the path of an environment `paper`."""
    target = tmp_path / "data" / "envs" / "paper"
    options = Options(show=False, executables={"uv": str(fake_uv(tmp_path / "programs"))})
    create(
        "paper", a_plan(target), plan_data(), environ=environ,
        verify=lambda _: Verified(ok=True, data={}), options=options,
    )  # fmt: skip
    return target


def write_program(environment: Path, name: str, text: str) -> None:
    program = environment / "bin" / name
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    program.chmod(0o755)


def test_without_a_store_there_is_nothing_to_list(environ: dict[str, str]) -> None:
    assert list_all(environ) == ()
    assert not Path(environ["GPUENV_DATA_DIR"]).exists()


def test_an_environment_is_listed_with_what_its_record_says(environ: dict[str, str], paper: Path) -> None:
    assert [render_environment(environment) for environment in list_all(environ)] == [
        {
            "name": "paper",
            "path": str(paper),
            "manager": "uv",
            "torch": "9.9.9+cpu",
            "variant": "cpu",
            "python": "3.12",
            "verified": True,
        }
    ]


def test_what_gpuenv_did_not_make_is_neither_listed_nor_removed(environ: dict[str, str], paper: Path) -> None:
    foreign = paper.parent / "foreign"
    foreign.mkdir()
    (foreign / "pyvenv.cfg").touch()
    (paper.parent / "file").touch()
    assert len(list_all(environ)) == 1
    with pytest.raises(UsageError) as raised:
        remove("foreign", environ)
    assert raised.value.code == "unknown-environment"
    assert foreign.exists()


@pytest.mark.parametrize("text", ["", '{"schema_version": 1', '{"schema_version": 99, "state": "complete"}'])
def test_an_environment_whose_record_is_damaged_is_still_there(
    environ: dict[str, str], paper: Path, text: str
) -> None:
    (paper / "gpuenv.json").write_text(text, encoding="utf-8")
    (environment,) = list_all(environ)
    assert render_environment(environment) == {
        "name": "paper", "path": str(paper), "manager": None,
        "torch": None, "variant": None, "python": None, "verified": None,
    }  # fmt: skip
    warning = unreadable(environment)
    assert warning is not None
    assert "`paper`" in warning.message
    assert run_inside("paper", ["true"], environ) == 0
    assert (paper / "gpuenv.json").read_text(encoding="utf-8") == text
    remove("paper", environ)
    assert not paper.exists()


def test_no_other_python_runs_where_the_environments_own_is_gone(
    environ: dict[str, str], paper: Path
) -> None:
    (paper / "bin" / "python").unlink()
    with pytest.raises(UsageError) as raised:
        run("paper", ["python", "-V"], environ)
    assert raised.value.code == "broken-environment"
    assert [fix.command for fix in raised.value.fixes] == [
        "gpuenv doctor paper",
        "gpuenv create paper --force",
    ]


def test_a_removed_environment_is_gone_whole(environ: dict[str, str], paper: Path) -> None:
    remove("paper", environ)
    assert list(paper.parent.iterdir()) == []
    assert list_all(environ) == ()


def test_an_unknown_name_gets_the_close_ones(environ: dict[str, str], paper: Path) -> None:
    assert paper.exists()
    for act in (lambda: remove("papper", environ), lambda: run("papper", ["true"], environ)):
        with pytest.raises(UsageError) as raised:
            act()
        assert raised.value.code == "unknown-environment"
        assert "`paper`" in raised.value.fixes[0].text


def test_a_command_runs_as_if_the_environment_were_active(
    environ: dict[str, str], paper: Path, tmp_path: Path
) -> None:
    write_program(paper, "report", 'echo "$VIRTUAL_ENV $PYTHONHOME ${PATH%%:*} $*" > "$OUT"; exit 7')
    out = tmp_path / "out"
    code = run_inside(
        "paper", ["report", "a b", "--", "$HOME"], {**environ, "PYTHONHOME": "/x", "OUT": str(out)}
    )
    assert code == 7
    assert out.read_text(encoding="utf-8") == f"{paper}  {paper / 'bin'} a b -- $HOME\n"


def test_without_a_path_of_its_own_the_environments_programs_are_found(paper: Path) -> None:
    assert activated(paper, {})["PATH"].split(os.pathsep)[0] == str(paper / "bin")
    assert activated(paper, {"PATH": ""})["PATH"] == str(paper / "bin")


def test_a_command_that_is_not_there_is_bad_usage(environ: dict[str, str], paper: Path) -> None:
    with handlers_kept(), pytest.raises(UsageError) as raised:
        run("paper", ["no-such-command"], environ)
    assert raised.value.code == "command-not-found"
    assert str(paper / "bin") in raised.value.fixes[0].text


def test_a_command_ended_by_a_signal_is_seen_to_be(environ: dict[str, str], paper: Path) -> None:
    write_program(paper, "suicide", "kill -9 $$")
    assert run_inside("paper", ["suicide"], environ) == -signal.SIGKILL


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_sigterm_is_passed_on_to_the_command(environ: dict[str, str], paper: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    write_program(paper, "wait", f"trap 'exit 9' TERM; : > '{ready}'; while :; do /bin/sleep 0.01; done")
    code = (
        "import os, sys; from gpuenv.activation.entering import run\n"
        "sys.exit(run('paper', ['wait'], os.environ))"
    )
    path = os.pathsep.join(sys.path)
    child = subprocess.Popen([sys.executable, "-c", code], env={**environ, "PYTHONPATH": path})
    while not ready.exists() and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) == 9


# --- the real uv


def test_real_uv_offers_pythons_whatever_is_on_path(tmp_path: Path) -> None:
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho broken >&2\nexit 127\n", encoding="utf-8")
    shim.chmod(0o755)
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    pythons = (FoundPython("3.11.7", "/usr/bin/python3.11"),)
    offers = uv.available_pythons(pythons, environ)
    assert ("3.11", "/usr/bin/python3.11") in [(offer.short, offer.path) for offer in offers]
    assert "3.12" in [offer.short for offer in offers if not offer.installed]
    assert [offer.minor for offer in offers] == sorted((offer.minor for offer in offers), reverse=True)
    assert [offer.path for offer in uv.available_pythons(pythons, environ, offline=True)] == [
        "/usr/bin/python3.11"
    ]
    refused = {**environ, "UV_PYTHON_DOWNLOADS": "never"}
    assert len(uv.available_pythons(pythons, refused)) == 1


def test_a_uv_that_fails_leaves_the_pythons_that_were_found(tmp_path: Path) -> None:
    pythons = (FoundPython("3.11.7", "/usr/bin/python3.11"),)
    assert len(uv.available_pythons(pythons, {"HOME": str(tmp_path)}, uv="/nowhere/uv")) == 1


def test_pip_offers_only_pythons_that_can_make_environments(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    bare.chmod(0o755)
    result = (
        FoundPython("3.9", str(bare)),
        FoundPython("3.11", sys.executable),
        FoundPython("3.8", "/nowhere"),
    )
    assert [offer.path for offer in pip.available_pythons(result, dict(os.environ))] == [sys.executable]
    assert pip.available_pythons((), {}) == ()


def question(wheels: Path, *requirements: str) -> CompileInput:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    sources = Sources(None, (), (str(wheels),), no_index=True)
    return CompileInput(("torch==9.9.9+cpu",), requirements, (), sources, version, platform="linux-64")


def uv_environ(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache")}


def test_real_uv_names_the_files_of_a_wheelhouse(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "wheels", "torch", "9.9.9+cpu")
    resolved = compile_requirements(question(wheel.parent), uv_environ(tmp_path))
    assert isinstance(resolved, Resolved)
    assert [(file.version, file.filename) for file in resolved.files] == [("9.9.9+cpu", wheel.name)]


def test_real_uv_names_who_forces_another_torch(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "torch", "9.9.9+cpu")
    make_wheel(wheels, "vllm", "1.0", requires=("torch==8.0.0",))
    failed = compile_requirements(question(wheels, "vllm"), uv_environ(tmp_path))
    assert isinstance(failed, Unresolvable)
    assert [demand.needs for demand in failed.demands_on(("torch",))] == ["torch==8.0.0"]
    assert failed.demands[0].package.startswith("vllm")
