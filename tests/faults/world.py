"""What a fault befalls: indexes on 127.0.0.1, a user's directories, environments that were made before."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conda_mirror import serve_mirror, with_mirror
from conda_world import make_world as make_channels
from front import Front, serve_front
from index_server import IndexServer
from micromamba import write_micromamba
from running import Done, Program, make_program
from tiny_wheels import TAG, tiny_torch, tiny_wheel

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("--cuda", "cpu", "--python", PYTHON, "--yes", "--json")
TOKEN = "GPUENV_FAULT"  # a variable by which the processes of a fault are known
CONDA = (
    "torch", "--manager", "micromamba", "--channel", "conda-forge", "--mirror", "lab", "--cuda", "cpu",
    "--python", "3.11", "--yes", "--json",
)  # fmt: skip
LIMIT_S = 90
_STATE = ("data", "home", "work", "tmp", "bin")  # all but the cache, which stays warm


class Plain(Program):
    """gpuenv with Python's warnings as a user has them: one struck in an import leaves its file open."""

    def start(self, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
        settings: dict[str, Any] = {"env": self.environ, "cwd": self.root / "work", "encoding": "utf-8"}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        argv = [sys.executable, "-m", "gpuenv", *map(str, arguments)]
        return subprocess.Popen(argv, **{**settings, **pipes, **options})


@dataclass
class World:
    """One of several that do not know of each other; `reset` makes it what it was."""

    root: Path
    index: IndexServer
    front: Front
    newer: str  # the path of a release that comes after an environment was made
    token: str = ""
    states: dict[str, Path] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)
    state: str = ""
    _program: Program | None = None

    @property
    def program(self) -> Program:
        assert self._program
        return self._program

    @property
    def envs(self) -> Path:
        return self.program.environments

    @property
    def mirrors(self) -> tuple[str, ...]:
        """The options that name the two indexes."""
        return "--mirror", f"{self.front.url}/whl", "--mirror", f"{self.front.url}/simple"

    def reset(self, state: str) -> None:
        """Bring the user's directories to a state; what runs from now on has a token of its own."""
        if state not in self.states:
            self._prepare(state)
        self.front.faults.clear()
        self.state = state
        for name in _STATE:
            path = self.root / "user" / name
            _remove(path)
            shutil.copytree(self.states[state] / name, path, symlinks=True)
        self.token = secrets.token_hex(8)

    def program_with(self, variables: Mapping[str, str | None]) -> Program:
        conda = {"GPUENV_CONFIG": str(self.program.home / "config.toml")} if "conda" in self.state else {}
        return self.program.with_(**{TOKEN: self.token, **conda, **variables})

    def run(self, *arguments: str | Path, **variables: str | None) -> Done:
        return self.program_with(variables).run(*arguments, timeout_s=LIMIT_S)

    def _prepare(self, state: str) -> None:
        """Make a state: `uv`, `pip` and `conda` have an environment, in `broken` it lacks a file."""
        if state in {"uv", "pip"}:
            self.reset("empty")
            newer = self.index.files.pop(self.newer)
            self.index._pages.clear()
            words = ("create", "paper", "torch==2.14.1", "tinydep", *CPU, "--manager", state, *self.mirrors)
            done = self.run(*words)
            assert done.status == 0, done
            self.index.files[self.newer] = newer
            self.index._pages.clear()
        elif state == "no-conda":
            self.reset("empty")
            self._bring_conda()
        elif state == "conda":
            self.reset("no-conda")
            done = self.run("create", "paper", *CONDA)
            assert done.status == 0, done
        elif state == "broken":
            self.reset("uv")
            (module,) = (self.envs / "paper").glob("lib/*/site-packages/torch/version.py")
            module.unlink()
        kept = self.root / "states" / state
        for name in _STATE:
            shutil.copytree(self.root / "user" / name, kept / name, symlinks=True)
        self.states[state] = kept

    def _bring_conda(self) -> None:
        """Bring a micromamba that really makes environments, in gpuenv's folder, and a mirror of channels."""
        channels = make_channels(
            keep=lambda row: row["torch"] == "2.8.0" and row["channel"] == "conda-forge",
            scratch=self.root / "channels",
        )
        with_mirror(self.program, self.stack.enter_context(serve_mirror(channels)))
        write_micromamba(self.program.bin, self.root / "user" / "data")


def _remove(place: Path) -> None:
    for folder, _, _ in os.walk(place):
        Path(folder).chmod(0o700)
    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def make_world(root: Path) -> Iterator[World]:
    """Make the indexes and the directories; states are made where they are needed."""
    with ExitStack() as stack:
        index = IndexServer(files={})
        front = stack.enter_context(serve_front(index))
        index.url = front.url
        world = World(root, index, front, newer=_publish(index, root / "wheels"), stack=stack)
        proxy = {"UV_HTTP_TIMEOUT": "2", "PIP_TIMEOUT": "2", "PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0"}
        plain = make_program(root / "user").with_(**proxy)
        world._program = Plain(plain.root, plain.environ)
        world._prepare("empty")
        yield world


def _publish(index: IndexServer, here: Path) -> str:
    for version in ("2.14.1+cpu", "2.15.0+cpu"):
        index.publish(tiny_torch(here, version), "pytorch", "cpu")
    index.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
    index.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1", "torch>=2"), tag=TAG), "pypi")
    spoilt = tiny_wheel(here, "spoilt", "1.0", requires=("tinydep>=1",))
    spoilt.write_bytes(spoilt.read_bytes().replace(b"__version__ =", b"__version__ +"))
    index.publish(spoilt, "pypi")
    return index.publish(tiny_wheel(here, "tinydep", "2.0"), "pypi").path
