"""gpuenv as a user runs it: a process of its own, an environment that a test has made up.

Most runs are forked from a process that has loaded gpuenv (`fork_server`). Those are started anew where what
a Python does at its start matters: variables for it, a locale, streams that a test brings, `own_start`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import IO, Any

from fork_server import CAN_FORK, ForkServer

ENVELOPE = {"schema_version", "command", "ok", "data", "warnings", "error"}
_NOWHERE = "http://127.0.0.1:1"  # nobody listens on port 1
_UTF8 = ("utf-8", "utf8")
_AT_HOME = dict(os.environ)  # before any test changed it


@dataclass(frozen=True)
class Done:
    """How a run ended."""

    status: int
    out: str
    err: str
    cpu_s: float = 0.0  # of a forked run and its children, and the most memory of one of them
    peak_mib: float = 0.0

    @property
    def said(self) -> str:
        """All that it printed."""
        return self.out + self.err

    @property
    def envelope(self) -> dict[str, Any]:
        """The one JSON document on stdout, which has the envelope's keys; it fails for anything else."""
        document = json.loads(self.out)
        assert set(document) == ENVELOPE, self.out
        assert document["schema_version"] == 1
        assert document["ok"] is (document["error"] is None)
        assert document["ok"] is (self.status == 0)
        if document["error"] is not None:
            assert set(document["error"]) == {"code", "message", "because", "fixes"}
        return dict(document)

    @property
    def data(self) -> dict[str, Any]:
        document = self.envelope
        assert document["ok"], (self.out, self.err)
        return dict(document["data"])

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.envelope["error"])

    @property
    def torch(self) -> str:
        """The version of the torch that was planned."""
        return str(self.package("torch")["version"])

    def package(self, name: str) -> dict[str, Any]:
        return next(dict(item) for item in self.data["packages"] if item["name"] == name)


@dataclass(frozen=True)
class Program:
    """gpuenv, and the directories and variables it is run with; nothing of the tester's own is among them."""

    root: Path
    environ: dict[str, str]
    start_as: tuple[str, ...] = ("-m", "gpuenv")
    own_start: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)  # of forked runs, by their name in `resource`

    @property
    def bin(self) -> Path:
        """The one directory on the PATH."""
        return self.root / "bin"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def environments(self) -> Path:
        return self.root / "data" / "envs"

    def with_(self, **variables: str | None) -> Program:
        """Return the program with other variables; None takes one away."""
        merged = {**self.environ, **{name: value or "" for name, value in variables.items()}}
        gone = {name for name, value in variables.items() if value is None}
        return replace(self, environ={name: value for name, value in merged.items() if name not in gone})

    def start(self, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
        """Start gpuenv; its output is read through pipes."""
        argv = [sys.executable, "-W", "error", *self.start_as, *map(str, arguments)]
        settings: dict[str, Any] = {
            "env": self.environ,
            "cwd": self.root / "work",
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "encoding": "utf-8",
        }
        return subprocess.Popen(argv, **{**settings, **options})

    def run(
        self, *arguments: str | Path, stdin: str | Path | None = None, timeout_s: float = 60, **options: Any
    ) -> Done:
        """Run gpuenv to its end; `stdin` is a text, or of a forked run a file."""
        if self._is_forked(options):
            folder = Path(options.get("cwd", self.root / "work"))
            return _run_forked(self, [*map(str, arguments)], folder, stdin, timeout_s)
        assert not isinstance(stdin, Path)
        if stdin is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*arguments, **options) as process:
            try:
                out, err = process.communicate(stdin, timeout=timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return Done(process.returncode, out, err)

    def _is_forked(self, options: Mapping[str, Any]) -> bool:
        if not CAN_FORK or self.own_start or self.start_as != ("-m", "gpuenv") or set(options) - {"cwd"}:
            return False
        places = _AT_HOME.get("PYTHONPATH")
        of_python = {name for name in self.environ if name.startswith("PYTHON")}
        locales = [self.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if self.environ.get(name)]
        return of_python <= ({"PYTHONPATH"} if places else set()) and all(
            locale.lower().endswith(_UTF8) for locale in locales[:1]
        )


@cache
def _fork_server() -> ForkServer:
    return ForkServer(_AT_HOME)


def _run_forked(
    program: Program, arguments: list[str], folder: Path, stdin: str | Path | None, timeout_s: float
) -> Done:
    out_read, out = os.pipe()
    err_read, err = os.pipe()
    text = stdin if isinstance(stdin, str) else None
    in_, in_write = (os.open(stdin or os.devnull, os.O_RDONLY), None) if text is None else os.pipe()
    try:
        run = _fork_server().run(arguments, program.environ, folder, (in_, out, err), program.limits)
    finally:
        for fd in (in_, out, err):
            os.close(fd)
    read: dict[str, bytes] = {}
    threads = [
        threading.Thread(target=_drain, args=(os.fdopen(fd, "rb"), read, name), daemon=True)
        for fd, name in ((out_read, "out"), (err_read, "err"))
    ]
    for thread in threads:
        thread.start()
    if in_write is not None and text is not None:
        with suppress(BrokenPipeError), os.fdopen(in_write, "wb") as writing:
            writing.write(text.encode())
    try:
        status, cpu_s, peak_mib = run.wait(timeout_s)
    except TimeoutError:
        run.kill()
        raise subprocess.TimeoutExpired(["gpuenv", *arguments], timeout_s) from None
    finally:
        run.close()
    for thread in threads:
        thread.join(timeout_s)
    return Done(status, *(_text(read.get(name, b"")) for name in ("out", "err")), cpu_s, peak_mib)


def _drain(stream: IO[bytes], read: dict[str, bytes], name: str) -> None:
    with stream:
        read[name] = stream.read()


def _text(content: bytes) -> str:
    return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def make_program(root: Path) -> Program:
    """Make a home, a work directory and an empty PATH under `root`; no request can leave this machine."""
    for name in ("home", "work", "bin", "data", "cache", "tmp"):
        (root / name).mkdir(parents=True)
    environ = {
        "PATH": str(root / "bin"),
        "HOME": str(root / "home"),
        "XDG_CONFIG_HOME": str(root / "home" / ".config"),
        "XDG_CONFIG_DIRS": str(root / "etc"),
        "XDG_DATA_HOME": str(root / "home" / ".local" / "share"),
        "XDG_CACHE_HOME": str(root / "home" / ".cache"),
        "TMPDIR": str(root / "tmp"),
        "GPUENV_DATA_DIR": str(root / "data"),
        "GPUENV_CACHE_DIR": str(root / "cache"),
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_CONFIG": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "HTTP_PROXY": _NOWHERE,
        "HTTPS_PROXY": _NOWHERE,
        "ALL_PROXY": _NOWHERE,
        "NO_PROXY": "127.0.0.1",
        "LANG": "C.UTF-8",
    }
    if "PYTHONPATH" in os.environ:  # gpuenv is not installed, but run from its sources
        places = os.environ["PYTHONPATH"].split(os.pathsep)
        environ["PYTHONPATH"] = os.pathsep.join(str(Path(location).absolute()) for location in places)
    return Program(root, environ)
