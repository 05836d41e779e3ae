"""What a fault befalls: indexes on 127.0.0.1, a user's directories, environments that were made before."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from front import Front, serve_front
from index_server import IndexServer
from micromamba import Micromamba, write_micromamba
from running import Done, Program, make_program
from tiny_wheels import TAG, tiny_torch, tiny_wheel

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("--cuda", "cpu", "--python", PYTHON, "--yes", "--json")
TOKEN = "GPUENV_FAULT"  # a variable by which the processes of a fault are known
LIMIT_S = 90
_STATE = ("data", "home", "work", "tmp", "bin")  # all but the cache, which stays warm


@dataclass
class World:
    """One of several that do not know of each other; `reset` makes it what it was."""

    root: Path
    index: IndexServer
    front: Front
    newer: str  # the path of a release that comes after an environment was made
    token: str = ""
    states: dict[str, Path] = field(default_factory=dict)
    conda: Micromamba | None = None
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
        for name in _STATE:
            place = self.root / "user" / name
            _remove(place)
            shutil.copytree(self.states[state] / name, place, symlinks=True)
        self.token = secrets.token_hex(8)

    def program_with(self, variables: Mapping[str, str | None]) -> Program:
        return self.program.with_(**{TOKEN: self.token, **variables})

    def run(self, *arguments: str | Path, **variables: str | None) -> Done:
        return self.program_with(variables).run(*arguments, timeout_s=LIMIT_S)

    def _prepare(self, state: str) -> None:
        """Make a state: `uv` and `pip` have an environment `paper`, `broken` one that lacks a file."""
        if state in {"uv", "pip"}:
            self.reset("empty")
            newer = self.index.files.pop(self.newer)
            self.index._pages.clear()
            words = ("create", "paper", "torch==2.14.1", "tinydep", *CPU, "--manager", state, *self.mirrors)
            done = self.run(*words)
            assert done.status == 0, done
            self.index.files[self.newer] = newer
            self.index._pages.clear()
        elif state == "broken":
            self.reset("uv")
            (module,) = (self.envs / "paper").glob("lib/*/site-packages/torch/version.py")
            module.unlink()
        kept = self.root / "states" / state
        for name in _STATE:
            shutil.copytree(self.root / "user" / name, kept / name, symlinks=True)
        self.states[state] = kept


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
        world = World(root, index, front, newer=_publish(index, root / "wheels"))
        proxy = {"UV_HTTP_TIMEOUT": "2", "PIP_TIMEOUT": "2", "PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0"}
        world._program = make_program(root / "user").with_(**proxy)
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


def with_conda(world: World) -> dict[str, Any]:
    """Put a micromamba that really plans and makes environments on the PATH."""
    world.conda = write_micromamba(world.program.bin, world.program.home / "micromamba")
    return {}
