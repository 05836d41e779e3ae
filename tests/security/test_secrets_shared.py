"""No password of an index stands in what is printed or written to be shared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from guarded_index import LOGIN, PASSWORD, with_login
from index_server import IndexServer
from running import Done, Program


@pytest.fixture
def asked(guarded: IndexServer) -> tuple[str, ...]:
    """What is planned: from a mirror, an index and a page of links, each named with the password."""
    mirrors = ("--mirror", with_login(guarded.pytorch), "--mirror", with_login(guarded.pypi))
    links = ("--find-links", with_login(f"{guarded.pypi}/mylib/"))
    return ("torch==2.14.1", "mylib", "--cuda", "cpu", *mirrors, *links)


@pytest.fixture
def user(program: Program, guarded: IndexServer) -> Program:
    return program.with_(PIP_EXTRA_INDEX_URL=with_login(guarded.pypi), UV_INDEX=with_login(guarded.pypi))


def texts(program: Program, done: Done) -> str:
    """Return all that a person or a colleague could see of a run."""
    folder = program.root / "work"
    written = (path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())
    return "".join((done.out, done.err, *written))


FORMATS = ("text", "json", "requirements.txt", "pylock.toml", "pyproject", "pixi.toml", "environment.yml",
           "dockerfile", "devcontainer", "pip", "uv", "ansible", "slurm")  # fmt: skip


@pytest.mark.parametrize("format_name", FORMATS)
def test_no_format_holds_a_password(user: Program, asked: tuple[str, ...], format_name: str) -> None:
    asked = (*asked, "--python", f"{sys.version_info[0]}.{sys.version_info[1]}")
    done = user.run("plan", *asked, "--format", format_name, "-o", "out", "-v")
    shown = user.run("plan", *asked, "--format", format_name, "-v")
    message = texts(user, done) + texts(user, shown)
    if format_name != "environment.yml":  # for a conda tool, which is not there
        assert done.status == 0, (done.out, done.err)
    assert PASSWORD not in message


@pytest.mark.parametrize("format_name", ["uv", "pip"])
def test_commands_show_the_address_and_where_the_password_can_be_put(
    user: Program, guarded: IndexServer, asked: tuple[str, ...], format_name: str
) -> None:
    done = user.run("plan", *asked, "--format", format_name)
    assert guarded.pypi in done.out
    assert "127.0.0.1 requires a password: put it into ~/.netrc" in done.out


@pytest.mark.parametrize("words", [("plan", "--json"), ("info",)])
def test_no_command_prints_a_password(user: Program, asked: tuple[str, ...], words: tuple[str, ...]) -> None:
    options = () if words == ("info",) else asked
    done = user.run(words[0], *options, *words[1:])
    assert done.status == 0, (done.out, done.err)
    assert PASSWORD not in texts(user, done)


@pytest.mark.slow
def test_a_failing_installer_tells_no_password(
    user: Program, guarded: IndexServer, asked: tuple[str, ...]
) -> None:
    with guarded.failing("500", "/packages/"):
        done = user.run("create", "paper", *asked, "--yes", "--json", "-v")
    assert done.status in (4, 5), (done.out, done.err)
    assert PASSWORD not in texts(user, done)
    for path in (user.root / "data").rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path


def test_what_a_program_prints_of_itself_is_logged_without_the_password(
    user: Program, asked: tuple[str, ...]
) -> None:
    from gpuenv.process import subprocesses as process  # noqa: PLC0415

    log = user.root / "log"
    address = f"https://{LOGIN}@host.example/simple"
    command = (sys.executable, "-c", "import os; print('Looking in', os.environ['PLACE'])")
    done = process.stream(command, log=log, environ={**os.environ, "PLACE": address}, show=False)
    assert done.ok
    assert PASSWORD not in done.stdout
    assert "****@host.example" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize("how", [(), ("--json",), ("--print",)])
def test_a_diff_of_configuration_shows_no_password(program: Program, how: tuple[str, ...]) -> None:
    pip = program.home / ".config" / "pip" / "pip.conf"
    pip.parent.mkdir(parents=True)
    before = f"[global]\nindex-url = https://{LOGIN}@host.example/simple\nextra-index-url = https://{LOGIN}@two.example\n"
    pip.write_text(before, encoding="utf-8")
    pip.chmod(0o600)
    program = program.with_(PIP_CONFIG_FILE=None)
    done = program.run(
        "mirrors", "use", "nju", "--for", "pip", *(() if "--print" in how else ("--yes",)), *how
    )
    assert done.status == 0, (done.out, done.err)
    assert PASSWORD not in done.out + done.err
    assert "****@two.example" in done.out
    if "--print" in how:
        assert pip.read_text(encoding="utf-8") == before
        return
    assert pip.stat().st_mode & 0o777 == 0o600
    assert f"https://{LOGIN}@two.example" in pip.read_text(encoding="utf-8")
    (kept,) = (program.root / "data" / "settings").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert program.run("mirrors", "reset", "--yes").status == 0
    assert pip.read_text(encoding="utf-8") == before


def test_a_report_of_a_defect_holds_no_password(program: Program, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "import gpuenv.cli.main as main\n"
        "def fail(arguments):\n"
        f"    raise RuntimeError('at https://{LOGIN}@host.example/simple')\n"
        "main.run_command = fail\n"
        "sys.exit(main.run(sys.argv[1:]))\n"
    )
    argv = [sys.executable, "-c", code, "plan", "torch", "--mirror", f"https://{LOGIN}@host.example"]
    done = subprocess.run(
        argv, env=program.environ, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 70, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    (report,) = (program.root / "tmp").glob("gpuenv-defect-*.json")
    assert PASSWORD not in report.read_text(encoding="utf-8")
    assert json.loads(report.read_text(encoding="utf-8"))["arguments"][:2] == ["plan", "torch"]
    assert report.stat().st_mode & 0o777 == 0o600
