"""A machine of a fleet, as far as the node program can tell: a home, a PATH, and Pythons of this one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuenv.fleet.node_archive import NODE_APP, node_app
from gpuenv.process.uv_binary import find_embedded_uv

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"  # the release that every node has


def other_pythons() -> list[str]:
    """Interpreters of this machine from 3.8 on, one a release, this one's release left out."""
    folders = [Path(item) for item in os.environ.get("PATH", "").split(os.pathsep) if item]
    homes = sorted(Path.home().glob(".pyenv/versions/3.*/bin"))
    fields: dict[int, str] = {}
    for minor in (8, 9, 10, 12, 13, 14):
        for folder in (*homes, *folders):
            program = folder / f"python3.{minor}"
            if minor != sys.version_info[1] and program.is_file() and _is_binary(program):
                fields.setdefault(minor, str(program))
    return [fields[minor] for minor in sorted(fields)]


def _is_binary(program: Path) -> bool:
    with program.open("rb") as file:
        return file.read(2) != b"#!"


@dataclass(frozen=True)
class Node:
    """One machine: everything of it lies below `folder`."""

    folder: Path
    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bin.mkdir(parents=True, exist_ok=True)
        if not (self.bin / f"python{HERE}").exists():
            (self.bin / f"python{HERE}").symlink_to(os.path.realpath(sys.executable))
        self.app.write_bytes(node_app())

    @property
    def bin(self) -> Path:
        """All of PATH."""
        return self.folder / "bin"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def app(self) -> Path:
        return self.folder / NODE_APP

    @property
    def environ(self) -> dict[str, str]:
        own = {
            "HOME": self.folder / "home", "PATH": self.bin, "TMPDIR": self.folder,
            "GPUENV_DATA_DIR": self.data,
        }  # fmt: skip
        return {**{name: str(path) for name, path in own.items()}, **self.variables}

    def with_uv(self) -> Node:
        """Put the real uv on its PATH."""
        uv = find_embedded_uv() or shutil.which("uv")
        assert uv is not None
        (self.bin / "uv").symlink_to(uv)
        return self

    def start(self, action: str, request: object = None, *, through: str = "") -> subprocess.Popen[str]:
        """Start the program, or a line of shell that starts it."""
        program = [self.python, "-I", str(self.app), action]
        child = subprocess.Popen(
            ["/bin/sh", "-c", through] if through else program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environ,
            cwd=self.folder,
        )
        assert child.stdin is not None
        child.stdin.write("" if request is None else json.dumps(request))
        child.stdin.close()
        child.stdin = None  # communicate would write into it
        return child

    def run(self, action: str, request: object = None) -> dict[str, Any]:
        """Run the program; its one line of JSON comes back, whatever it says."""
        child = self.start(action, request)
        out, err = child.communicate(timeout=120)
        assert child.returncode == 0, err
        (line,) = out.splitlines()
        answer: dict[str, Any] = json.loads(line)
        assert (answer["schema_version"], answer["action"]) == (1, action)
        return answer


def wanted(wheels: Path, *names: str, **changed: Any) -> dict[str, Any]:
    """A request for wheels of a folder, by their names and versions."""
    lines = ["--no-index", f"--find-links {wheels}", *names]
    request = {
        "name": "paper", "python": HERE, "requirements": "\n".join(lines) + "\n", "hashed": False,
        "fingerprint": " ".join(names), "names": [name.partition("=")[0] for name in names], "size": 0,
        "record": {"schema_version": 1, "verified": None, "verify": None, "machine": None, "plan": {}},
    }  # fmt: skip
    return {**request, **changed}
