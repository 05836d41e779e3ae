"""The ways into an environment: what shells evaluate, and shells that are opened in one."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from index_server import IndexServer
from running import Program, make_program
from tiny_wheels import tiny_torch

SHELLS = {
    "bash": ("bash", "-c"),
    "zsh": ("zsh", "-f", "-c"),
    "dash": ("dash", "-c"),
    "ash": ("busybox", "sh", "-c"),
}
_SHOW = """echo "$(command -v python)|$VIRTUAL_ENV|$PS1|$PIP_CONSTRAINT|${PIP_USER-none}" """
_AFTER = """
[ "$PATH" = "$before" ] && echo same
echo "${VIRTUAL_ENV-none}|$PS1|${PIP_CONSTRAINT-none}|${UV_CONSTRAINT-none}|$PIP_USER"
"""


def needs(program: str) -> str:
    """Return where a program is; skip the test where it is not."""
    value = shutil.which(program)
    if value is None:
        pytest.skip(f"no {program}")
    return value


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    server.publish(tiny_torch(tmp_path_factory.mktemp("wheels"), "2.14.1+cpu"), "pytorch", "cpu")


@pytest.fixture(scope="module")
def lived(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Make one environment, `paper`, in a folder whose name has to be quoted, and put gpuenv on the PATH."""
    here = tmp_path_factory.mktemp("lived")
    program = make_program(here / "it's a $user")
    mirrors = ("--mirror", server.pytorch, "--mirror", server.pypi)
    wanted = ("torch==2.14.1", "--cuda", "cpu", "--manager", "uv", "--no-verify")
    done = program.run("create", "paper", *wanted, "--yes", *mirrors)
    assert done.status == 0, done.err
    launcher = program.bin / "gpuenv"
    launcher.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gpuenv "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    return program


def evaluated(program: Program, argv: tuple[str, ...], script: str) -> list[str]:
    """Run a script in a shell and return its lines; what it writes to stderr fails the test."""
    words = (needs(argv[0]), *argv[1:], script)
    done = subprocess.run(words, env=program.environ, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_shells_of_posix_activate_and_leave(lived: Program, shell: str) -> None:
    user = lived.with_(PIP_USER="1")
    root = lived.environments / "paper"
    script = (
        "set -eu; PS1='> '; before=$PATH\n"
        f'eval "$(gpuenv activate paper)"; {_SHOW}\n'
        f'eval "$(gpuenv activate paper)"; {_SHOW}\n'
        f"deactivate{_AFTER}"
    )
    constraint = (root / "constraints.txt").as_uri()
    inside = f"{root}/bin/python|{root}|(paper) > |{constraint}|none"
    assert evaluated(user, SHELLS[shell], script) == [
        inside, inside, "same", "none|> |none|none|1"
    ]  # fmt: skip


def test_fish_activates_and_leaves(lived: Program) -> None:
    root = lived.environments / "paper"
    script = (
        'set before "$PATH"; function fish_prompt; echo "> "; end\n'
        "gpuenv activate paper | source; gpuenv activate paper | source\n"
        'echo (command -v python)"|$VIRTUAL_ENV|$UV_CONSTRAINT"; fish_prompt\n'
        'deactivate; test "$PATH" = "$before"; and echo same\n'
        "set -q VIRTUAL_ENV UV_CONSTRAINT; or echo none\n"
        "fish_prompt"
    )
    constraint = (root / "constraints.txt").as_uri()
    assert evaluated(lived, ("fish", "--no-config", "-c"), script) == [
        f"{root}/bin/python|{root}|{constraint}", "(paper) > ", "same", "none", "> "
    ]  # fmt: skip


def test_what_shells_already_had_comes_back(lived: Program, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("", encoding="utf-8")
    user = lived.with_(PIP_CONSTRAINT=str(mine), VIRTUAL_ENV="/other", PYTHONHOME=None)
    script = (
        'PS1="> "; before=$PATH; eval "$(gpuenv activate paper)"; echo "$PIP_CONSTRAINT"; deactivate\n'
        'echo "$PIP_CONSTRAINT|$VIRTUAL_ENV"'
    )
    ours = (lived.environments / "paper" / "constraints.txt").as_uri()
    assert evaluated(user, SHELLS["bash"], script) == [f"{ours} {mine}", f"{mine}|/other"]


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("powershell", "& '{}/activate.ps1'"),
        ("pwsh", "& '{}/activate.ps1'"),
        ("cmd", 'call "{}/activate.bat"'),
    ],
)  # fmt: skip
def test_other_shells_get_the_line_to_run(lived: Program, shell: str, line: str) -> None:
    answer = lived.run("activate", "paper", "--shell", shell)
    location = str(lived.environments / "paper" / "bin")
    if shell != "cmd":
        location = location.replace("'", "''")
    assert (answer.status, answer.out, answer.err) == (0, line.format(location) + "\n", "")


@pytest.mark.slow
def test_create_ends_with_a_line_that_works_when_pasted(program: Program, server: IndexServer) -> None:
    wanted = ("torch==2.14.1", "--cuda", "cpu", "--manager", "uv", "--no-verify", "--yes")
    made = program.run("create", "./an env", *wanted, "--mirror", server.pytorch, "--mirror", server.pypi)
    assert made.status == 0, made.err
    *_, activate, interpreter = made.out.splitlines()
    root = program.root / "work" / "an env"
    assert interpreter.endswith(str(root / "bin" / "python"))
    line = activate.partition(": ")[2]
    user = program.with_(PATH=os.defpath)  # uv's script runs `basename`
    assert evaluated(user, SHELLS["bash"], f'{line}\necho "$VIRTUAL_ENV"') == [str(root)]


@pytest.mark.slow
def test_an_unknown_environment_leaves_stdout_empty(lived: Program) -> None:
    done = lived.run("activate", "papper", "--shell", "bash")
    assert (done.status, done.out) == (2, "")
    assert "`paper`" in done.err
    assert lived.run("shell", "papper").status == 2
    assert lived.run("activate", "paper", "--shell", "tty").status == 2


def test_on_a_terminal_it_says_how_it_is_meant(lived: Program) -> None:
    ours, theirs = pty.openpty()
    process = lived.start("activate", "paper", "--shell", "bash", stdout=theirs)
    os.close(theirs)
    _, err = process.communicate(timeout=60)
    os.close(ours)
    assert 'eval "$(gpuenv activate paper)"' in err


def test_a_shell_without_a_terminal_reads_commands(lived: Program) -> None:
    shell = lived.with_(SHELL=needs("dash"))
    for words in (("shell", "paper", "--shell", needs("dash").rpartition("/")[2]), ("run", "paper")):
        here = shell.with_(PATH=f"{lived.bin}:{Path(needs('dash')).parent}")
        answer = here.run(*words, stdin='command -v python\necho "$VIRTUAL_ENV"\nexit 7\n')
        root = lived.environments / "paper"
        assert (answer.status, answer.out) == (7, f"{root}/bin/python\n{root}\n"), answer.err


_ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Typed:
    """A shell on a terminal into which a test types."""

    def __init__(self, program: Program, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, sys.executable, "-m", "gpuenv", *words],
            env=program.environ, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 20
        while text not in self.shown and time.monotonic() < end:
            self.shown += self._read()
        assert text in self.shown, self.shown

    def _read(self) -> str:
        if not select.select([self._ours], [], [], 1)[0]:
            return ""
        try:
            return os.read(self._ours, 4096).decode(errors="replace")
        except OSError:  # it has ended
            return ""

    def type(self, line: str) -> None:
        os.write(self._ours, f"{line}\n".encode())

    def end(self) -> int:
        status = self.process.wait(timeout=60)
        os.close(self._ours)
        return status


_START_FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish", "dash": ".shrc"}


@pytest.mark.parametrize("shell", _START_FILES)
def test_a_shell_is_opened_after_the_users_start_files(lived: Program, shell: str, tmp_path: Path) -> None:
    """Start files put other Pythons first on PATH; the environment's comes before them all the same."""
    another = tmp_path / "another"
    another.mkdir()
    (another / "python").symlink_to(sys.executable)
    home = tmp_path / "home"
    start = home / _START_FILES[shell]
    start.parent.mkdir(parents=True)
    export = "set -gx {} {}\n" if shell == "fish" else "export {}={}\n"
    path = f"{another} $PATH" if shell == "fish" else f'{another}:"$PATH"'
    start.write_text(export.format("PATH", path) + export.format("MINE", "kept"), encoding="utf-8")
    folder = Path(needs(shell)).parent
    user = lived.with_(
        HOME=str(home), PATH=f"{lived.bin}:{folder}:/usr/bin:/bin", TERM="dumb", XDG_CONFIG_HOME=None,
        ENV=str(home / ".shrc") if shell == "dash" else None,
    )  # fmt: skip
    typed = Typed(user, "shell", "paper", "--shell", shell)
    typed.wait_for("`exit`")
    typed.type('echo "in:"$(command -v python)":$MINE:"' if shell != "fish" else
               'echo "in:"(command -v python)":$MINE:"')  # fmt: skip
    typed.wait_for(f"in:{lived.environments}/paper/bin/python:kept:")
    typed.type("gpuenv shell paper; echo nested:$status:" if shell == "fish" else
               "gpuenv shell paper; echo nested:$?:")  # fmt: skip
    typed.wait_for("nested:2:")
    typed.type("exit 5")
    assert typed.end() == 5
    assert "(paper)" in typed.shown
    assert not list((lived.root / "tmp").glob("gpuenv-shell-*"))


def test_run_becomes_its_command(lived: Program) -> None:
    """The command has gpuenv's process: signals sent to it arrive, and no parent of it lives on."""
    process = lived.start("run", "paper", "--", "python", "-c", "import os; print(os.getpid())")
    out, _ = process.communicate(timeout=60)
    assert int(out) == process.pid


def test_run_gives_its_command_the_signals_as_they_were(lived: Program) -> None:
    code = "import signal; print([int(signal.getsignal(n) or 0) for n in (signal.SIGTERM, signal.SIGHUP)])"
    words = ("run", "paper", "--", "python", "-c", code)
    assert lived.run(*words).out == "[0, 0]\n"
    script = "kill -s PIPE $$; echo survived"  # Python ignores it, commands must not
    assert lived.run("run", "paper", "--", "/bin/sh", "-c", script).status == -signal.SIGPIPE
