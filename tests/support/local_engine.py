"""The far side of a fleet without an engine: hosts that are all this machine, each with its home and GPUs.

The node program itself runs for each of them, as Ansible and Slurm would let it run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uv
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi

from gpuenv.fleet.node_archive import node_app
from gpuenv.fleet.run_model import HostResult, NodeTask, OnHost

Answer = Callable[[NodeTask], Any]


@dataclass
class LocalEngine:
    """An engine whose hosts are folders under `root`; others are away, or answer what a test wants."""

    root: Path
    name: str = "ansible"
    known: dict[str, Mapping[str, str] | Answer | None] = field(default_factory=dict)
    tasks: list[NodeTask] = field(default_factory=list)
    interrupt_at: tuple[str, str] | None = None

    def host(self, name: str, driver: str = "550.54.14", *gpus: FakeGpu, **variables: str) -> Path:
        """Make a host with GPUs; return its folder."""
        home = self.root / name
        programs = home / "bin"
        programs.mkdir(parents=True)
        if gpus:
            fake_nvidia_smi(programs, driver, *gpus)
        (programs / "uv").symlink_to(uv.find_uv_bin())
        self.known[name] = {
            "HOME": str(home),
            "GPUENV_DATA_DIR": str(home / "data"),
            "PATH": f"{programs}:{Path(sys.executable).resolve().parent}:/usr/bin:/bin",
            "UV_NO_CONFIG": "1",
            "UV_CACHE_DIR": str(self.root / "uv"),
            "PIP_CONFIG_FILE": os.devnull,
            "LANG": "C.UTF-8",
            **variables,
        }
        return home

    def away(self, name: str) -> None:
        """Add a host that nobody reaches."""
        self.known[name] = None

    def answers(self, name: str, answer: Answer) -> None:
        """Add a host that answers what a test wants."""
        self.known[name] = answer

    def environment(self, host: str, name: str) -> Path:
        return self.root / host / "data" / "envs" / name

    def hosts(self) -> tuple[str, ...]:
        return tuple(self.known)

    def run(self, task: NodeTask, on_host: OnHost) -> tuple[HostResult, ...]:
        self.tasks.append(task)

        def one(host: str) -> HostResult:
            on_host(HostResult(host, "waiting", message="Resources"))
            on_host(HostResult(host, "running"))
            if self.interrupt_at == (task.action, host):
                raise KeyboardInterrupt
            result = self.ask(host, task)
            on_host(result)
            return result

        with ThreadPoolExecutor(4) as pool:
            return tuple(pool.map(one, task.requests))

    def ask(self, host: str, task: NodeTask) -> HostResult:
        """Run a task on one host."""
        known = self.known[host]
        if known is None:
            return HostResult(host, "unreachable", message="connect to host port 22: Connection refused")
        if callable(known):
            return HostResult(host, "done", known(task))
        program = Path(known["HOME"]) / "gpuenv-node.pyz"
        program.write_bytes(node_app())
        done = subprocess.run(
            [sys.executable, "-I", str(program), task.action],
            input=json.dumps(task.requests[host]),
            env=dict(known), capture_output=True, text=True, check=False,
        )  # fmt: skip
        try:
            return HostResult(host, "done", json.loads(done.stdout))
        except ValueError:
            return HostResult(host, "failed", message=f"no answer (status {done.returncode}): {done.stderr}")
