"""A machine for the bootstrap script: a home, few programs, and a Python that only says what it is asked."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bare_root import COREUTILS

SHELLS = ("dash", "bash", "busybox sh")
HAS_DRIVER = any(Path(item).exists() for item in ("/proc/driver/nvidia/version", "/dev/dxg"))

# What is asked of it is written to `calls`; files in FAKE say how it answers.
_PYTHON = """#!/bin/sh
if [ "$2" = -c ]; then
    case $3 in
        *'sys, venv'*) [ ! -e "$FAKE/old" ]; exit ;;
        '' | 'import gpuenv') [ ! -e "$FAKE/broken-python" ]; exit ;;
        *) exec {python} "$@" ;;
    esac
fi
printf '%s\\n' "$*" >>"$FAKE/calls"
shift
case "$1 $2 $3" in
    '-m venv --without-pip') mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;
    '-m venv '*)
        mkdir -p "$3/bin"
        [ ! -e "$FAKE/no-ensurepip" ] || exit 1
        cp "$0" "$3/bin/python"
        ;;
    '-m pip --version') [ ! -e "$FAKE/no-pip" ] ;;
    '-m pip '* | */pip' install '*)
        if [ -e "$FAKE/pip-fails" ]; then cat "$FAKE/pip-fails"; exit 1; fi
        if [ -e "$FAKE/index-fails" ]; then case "$*" in *"$(cat "$FAKE/index-fails")"*) exit 1 ;; esac; fi
        ;;
    '-m gpuenv list')
        separator=
        printf '{{"data": {{"environments": ['
        for one in "$FAKE"/envs/*; do
            [ -e "$one" ] || continue
            name=${{one##*/}}
            printf '%s{{"name": "%s", "variant": "%s", ' "$separator" "$name" "$(cat "$one")"
            printf '"path": "%s/made/%s"}}' "$FAKE" "$name"
            separator=,
        done
        printf ']}}}}'
        ;;
    '-m gpuenv verify') [ ! -e "$FAKE/broken" ] || exit 6 ;;
    '-m gpuenv create')
        if [ -e "$FAKE/waits" ]; then
            trap 'echo terminated >>"$FAKE/calls"; exit 130' TERM
            : >"$FAKE/waiting"
            while [ -e "$FAKE/waits" ]; do {sleep} 0.05; done
        fi
        [ ! -e "$FAKE/create-fails" ] || exit "$(cat "$FAKE/create-fails")"
        mkdir -p "$FAKE/made/$4"
        echo "{{\\"created\\": \\"$(grep -c '' "$FAKE/calls")\\"}}" >"$FAKE/made/$4/gpuenv.json"
        echo cpu >"$FAKE/envs/$4"
        ;;
    '-m gpuenv remove') rm "$FAKE/envs/$4" ;;
    *) exit 99 ;;
esac
"""


@dataclass(frozen=True)
class ScriptMachine:
    """One machine; `fake` holds how its Python answers."""

    root: Path
    shell: str

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def place(self) -> Path:
        return self.home / ".local/share/gpuenv/bootstrap"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def fake(self) -> Path:
        return self.root / "fake"

    @property
    def environments(self) -> Path:
        return self.fake / "envs"

    @property
    def calls(self) -> list[str]:
        """What the Pythons were called with."""
        file = self.fake / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def gpuenv(self) -> list[str]:
        """What gpuenv was called with, but for looking what there is."""
        own = (call.partition("-m gpuenv ")[2] for call in self.calls)
        return [call for call in own if call and not call.startswith("list")]

    def python(self, name: str = "python3") -> None:
        text = _PYTHON.format(python=sys.executable, sleep=shutil.which("sleep"))
        self.program(name, text)

    def program(self, name: str, text: str) -> None:
        file = self.bin / name
        file.unlink(missing_ok=True)  # never write through a link to the system's own
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)

    def made_by_hand(self, name: str) -> None:
        """Let there be an environment that somebody made with gpuenv."""
        (self.environments / name).write_text("cpu", encoding="utf-8")
        record = self.fake / "made" / name / "gpuenv.json"
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text('{"created": "by hand"}', encoding="utf-8")

    def says(self, name: str, text: str = "") -> None:
        """Let the Python answer so from now on."""
        (self.fake / name).write_text(text, encoding="utf-8")

    def start(self, script: str, *words: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._argv(script, words), env={**self._environ, **variables}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", cwd=self.root,
        )  # fmt: skip

    def run(self, script: str, *words: str, **variables: str) -> tuple[int, str, str]:
        """Run the script; return its status, stdout and stderr."""
        with self.start(script, *words, **variables) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def talk(self, script: str, *words: str, says: str, when: Callable[[str], bool]) -> tuple[int, str]:
        """Run the script on a terminal and type something once; return its status and what was shown."""
        import fcntl  # noqa: PLC0415 - these exist on POSIX only
        import pty  # noqa: PLC0415
        import termios  # noqa: PLC0415

        def take_terminal() -> None:  # so that Ctrl-C means this process
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            self._argv(script, words), env=self._environ, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=take_terminal,  # noqa: PLW1509
        )  # fmt: skip
        os.close(theirs)
        shown, typed = "", False
        with suppress(OSError):  # Linux says EIO when the script has ended
            while True:
                if select.select([ours], [], [], 0.05)[0]:
                    shown += os.read(ours, 65536).decode()
                if not typed and when(shown):
                    os.write(ours, says.encode())
                    typed = True
        os.close(ours)
        return process.wait(60), shown.replace("\r\n", "\n")

    def _argv(self, script: str, words: tuple[str, ...]) -> list[str]:
        file = self.root / "given" / "boot.sh"
        file.write_text(script, encoding="utf-8")
        shell, *applet = self.shell.split()
        return [str(shutil.which(shell)), *applet, str(file), *words]

    @property
    def _environ(self) -> dict[str, str]:
        return {"PATH": str(self.bin), "HOME": str(self.home), "FAKE": str(self.fake), "LANG": "C.UTF-8"}

    def files(self) -> dict[str, bytes | str]:
        """All that lies in the home."""
        return {
            str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else "folder"
            for path in self.home.rglob("*")
        }


def make_machine(root: Path, shell: str) -> ScriptMachine:
    """Make a machine with nothing but coreutils and a Python; `sleep` takes no time."""
    made = ScriptMachine(root, shell)
    for folder in (made.home, made.bin, made.environments, root / "given" / "wheels"):
        folder.mkdir(parents=True)
    for name in ("flock", "id", *COREUTILS):
        (made.bin / name).symlink_to(os.path.realpath(str(shutil.which(name))))
    (made.bin / "sh").symlink_to("/bin/sh")
    (made.bin / "cp").symlink_to(os.path.realpath(str(shutil.which("cp"))))
    made.program("sleep", "#!/bin/sh\n")
    made.python()
    return made
