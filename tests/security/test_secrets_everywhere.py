"""A password in every place that can be configured, every command and format, and no trace of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from guarded_index import PASSWORD, serve_guarded, with_login, write
from index_server import IndexServer
from running import Program, make_program

CANARY = "canary-4b1d"  # in places that are told, but where nothing is to be had
DEAD = f"http://ada:{CANARY}@127.0.0.1:1"
FORMATS = ("text", "json", "requirements.txt", "pylock.toml", "pyproject", "pixi.toml", "environment.yml",
           "dockerfile", "devcontainer", "pip", "uv", "ansible", "slurm")  # fmt: skip

# One process runs all commands: what each prints, and the arguments of what it starts, are written down.
DRIVER = """
import io, json, os, sys
commands, answers = json.loads(sys.stdin.read()), []
started = []
def note(event, given):
    if event == "subprocess.Popen":
        started.append([os.fsdecode(word) for word in given[1]])
sys.addaudithook(note)
from gpuenv.cli.main import run
out, err = sys.stdout, sys.stderr
for command in commands:
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    sys.argv = ["gpuenv", *command]
    status = run(command)
    told = []
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        told.append(stream.buffer.getvalue().decode("utf-8", "replace"))
    answers.append([command, status, *told])
json.dump([answers, started], out)
"""


@dataclass(frozen=True)
class Swept:
    """What was seen: of each command its words, its status, what it printed; all arguments; all files."""

    program: Program
    commands: list[tuple[list[str], int, str, str]]
    started: list[list[str]]


def places(index: IndexServer, program: Program) -> Program:
    """Name the password in every place from which gpuenv, uv, pip or conda read one."""
    home, url = program.home, with_login(index.pypi)
    write(home / ".config/uv/uv.toml", f'[[index]]\nname = "inner"\nurl = "{url}"\n')
    write(
        home / ".config/pip/pip.conf",
        f"[global]\nextra-index-url = {url}\n    {DEAD}/simple?token={CANARY}\n",
    )
    write(home / ".netrc", f"machine other.example login ada password {CANARY}\n")
    write(home / ".condarc", f"channels:\n  - {DEAD}/t/{CANARY}/lab\n")
    write(
        home / ".config/gpuenv/config.toml",
        f'[[mirror]]\nname = "ours"\n[mirror.pypi]\nsimple = "{url}"\n'
        f'[[mirror]]\nname = "dead"\n[mirror.pypi]\nsimple = "{DEAD}/simple"\n',
    )
    work = program.root / "work"
    write(
        work / "requirements.txt",
        f"--extra-index-url {url}\n--find-links {DEAD}/x?sig={CANARY}\ntorch==2.14.1\nmylib\n",
    )
    write(
        work / "environment.yml",
        f"name: paper\nchannels: [{DEAD}/t/{CANARY}/lab, conda-forge]\ndependencies:\n  - python=3.11\n"
        f"  - pip:\n    - --extra-index-url {url}\n    - torch==2.14.1\nvariables:\n  PLACE: {url}\n",
    )
    write(
        work / "inventory.ini",
        f"[gpus]\nnode1 ansible_password={CANARY} ansible_become_password={CANARY}\n",
    )
    return program.with_(
        PIP_CONFIG_FILE=None,
        UV_NO_CONFIG=None,
        PIP_EXTRA_INDEX_URL=url,
        UV_INDEX=url,
        UV_INDEX_INNER_USERNAME="ada",
        UV_INDEX_INNER_PASSWORD=PASSWORD,
        UV_INDEX_OTHER_PASSWORD=CANARY,
        GITLAB_TOKEN=CANARY,
        HTTPS_PROXY=DEAD,
        ALL_PROXY=DEAD,
    )


def commands(index: IndexServer, formats: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield what is run: each command that could tell an address, each of the formats."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    mirrors = ["--mirror", with_login(index.pytorch), "--mirror", with_login(index.pypi)]
    links = ["--find-links", with_login(f"{index.pypi}/mylib/")]
    requested = ["torch==2.14.1", "mylib", "--cuda", "cpu", "--python", python, *mirrors, *links]
    dead = ["torch", "--cuda", "cpu", "--mirror", f"{DEAD}/simple?token={CANARY}"]
    yield ["create", "paper", *requested, "--yes", "--no-verify", "-v", "--json"]
    for name in formats:
        yield ["plan", *requested, "--format", name, "-v"]
        yield ["plan", *requested, "--format", name, "-o", f"out-{name}"]
    yield ["plan", "-r", "requirements.txt", "--cuda", "cpu", *mirrors, "--json", "-v"]
    yield ["plan", "-f", "environment.yml", "--cuda", "cpu", *mirrors, "-v"]
    yield ["plan", "-f", "environment.yml", "--cuda", "cpu", *mirrors, "--format", "environment.yml"]
    yield ["plan", *dead, "-v"]
    yield ["plan", *dead, "--json"]
    yield ["plan", "torch", f"x @ {DEAD}/x-1.0-py3-none-any.whl?sig={CANARY}", "--cuda", "cpu", *mirrors]
    yield ["create", "other", *dead, "--yes", "-v"]
    yield ["create", "other", "--from", f"{DEAD}/pylock.toml?token={CANARY}", "--yes", "--json"]
    for words in (
        ["info"],
        ["info", "paper"],
        ["list"],
        ["export", "paper"],
        ["doctor", "paper"],
        ["detect"],
    ):
        yield [*words, "-v"]
        yield [*words, "--json"]
    yield ["export", "paper", "-o", "exported"]
    yield ["clone", "paper", "copy", "--yes", "--no-verify", "-v"]
    yield ["install", "paper", "mylib", *mirrors, "--yes", "--no-verify", "-v"]
    yield ["doctor", "paper", "--save", "findings.json"]
    yield ["mirrors", "list", "-v"]
    yield ["mirrors", "list", "--json"]
    yield ["mirrors", "check", "ours", "dead", "-v"]
    yield ["mirrors", "check", "dead", "--json"]
    yield ["mirrors", "use", "ours", "--for", "pip", "--print", "--insecure", "127.0.0.1"]
    yield ["mirrors", "use", f"{DEAD}/simple", "--for", "uv", "--print", "--insecure", "127.0.0.1"]
    yield ["mirrors", "use", "nju", "--for", "pip", "--json", "--print"]
    yield ["matrix", "inspect", f"{DEAD}/torch-2.0-cp311-cp311-linux_x86_64.whl?X-Amz-Signature={CANARY}"]
    yield ["bootstrap", *requested, "--offline", "-v"]
    yield ["fleet", "plan", "torch", "--inventory", "inventory.ini", *mirrors, "-v"]
    yield ["explain", "--json", f"ERROR: 401 for {DEAD}/simple?token={CANARY} PRIVATE-TOKEN: {CANARY}"]
    yield ["remove", "copy", "--yes", "-v"]


@pytest.fixture(scope="module", params=(FORMATS[::6], FORMATS), ids=("some", "all"))
def swept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    folder = tmp_path_factory.mktemp("sweep")
    with serve_guarded(folder) as index:
        program = places(index, make_program(folder / "user"))
        given: list[list[str]] = list(commands(index, request.param))
        done = subprocess.run(
            [sys.executable, "-c", DRIVER],
            input=json.dumps(given), env=program.environ, cwd=program.root / "work",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answers: Any
        answers, started = json.loads(done.stdout)
        yield Swept(program, [tuple(answer) for answer in answers], started)


def is_secret(text: str) -> bool:
    return PASSWORD in text or CANARY in text


@pytest.mark.slow
def test_the_commands_ran(swept: Swept) -> None:
    statuses = {" ".join(words[:2]): status for words, status, _, _ in swept.commands if words[0] != "plan"}
    assert statuses["create paper"] == 0, swept.commands[0]
    assert {status for _, status, _, _ in swept.commands} <= {0, 2, 3, 4, 5, 6}
    reported = [(words, out + err) for words, _, out, err in swept.commands]
    assert [words for words, text in reported if "error: no such" in text or "unexpected extra" in text] == []


@pytest.mark.slow
def test_no_command_prints_a_password(swept: Swept) -> None:
    telling = [
        (words, [line for line in (out + err).splitlines() if is_secret(line)])
        for words, _, out, err in swept.commands
        if is_secret(out + err)
    ]
    assert telling == [], json.dumps(telling, indent=1)


def test_no_password_is_an_argument(swept: Swept) -> None:
    assert swept.started
    assert [words for words in swept.started if is_secret(" ".join(words))] == []


OWN = ("requirements.txt", "environment.yml", "inventory.ini")


def test_only_closed_files_of_the_cache_hold_passwords(swept: Swept) -> None:
    root = swept.program.root
    for folder in ("data", "cache", "work", "tmp"):
        for path in (root / folder).rglob("*"):
            if not path.is_file() or (path.parent.name == "work" and path.name in OWN):
                continue
            if not is_secret(path.read_bytes().decode("utf-8", "replace")):
                continue
            assert folder == "cache", path
            assert path.stat().st_mode & 0o777 == 0o600, path
            assert path.parent.stat().st_mode & 0o077 == 0, path


def test_what_gpuenv_keeps_is_closed_to_others(swept: Swept) -> None:
    data = swept.program.root / "data"
    for name in ("logs", "locks", "journals"):
        folder = data / name
        assert not folder.exists() or folder.stat().st_mode & 0o077 == 0, folder
    for log in (data / "logs").iterdir():
        assert log.stat().st_mode & 0o777 == 0o600
