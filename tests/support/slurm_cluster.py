"""A real Slurm on this machine: a controller, and nodes that each have a home and GPUs of their own."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uv
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi

_SEARCHED = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
_PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "scontrol")
HAS_SLURM = os.name == "posix" and all(shutil.which(name, path=_SEARCHED) for name in _PROGRAMS)
needs_slurm = pytest.mark.skipif(not HAS_SLURM, reason="slurm is not installed")
P100, B200 = FakeGpu("Tesla P100-PCIE-16GB", "6.0"), FakeGpu("NVIDIA B200", "10.0")
_GPUS_OF = {"gpu1": (P100,), "gpu2": (B200, B200), "gpu3": (P100,), "gpu4": (P100,)}
DRIVER = "580.95.05"
NODES = ("gpu1", "gpu2", "gpu3", "gpu4")
DRAINED = "bad | fan"
_START_S = 60
_KNOWN = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
# Each slurmd stands for a machine: what is on its PATH, and where its home is, a prolog of tasks tells.
_PROLOG = '#!/bin/sh\ncat "{root}/$SLURMD_NODENAME/variables"\n'
_SETTINGS = """\
ClusterName=gpuenv
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmdSpoolDir={root}/spool-%n
StateSaveLocation={root}/state
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=100000,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
GresTypes=gpu
TaskProlog={root}/prolog
NodeName=gpu1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={one} CPUs=2 Gres=gpu:p100:1 State=UNKNOWN
NodeName=gpu2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={two} CPUs=2 Gres=gpu:b200:2 State=UNKNOWN
NodeName=gpu3 NodeHostname=localhost NodeAddr=127.0.0.1 Port={three} CPUs=2 State=UNKNOWN
NodeName=gpu4 NodeHostname=localhost NodeAddr=127.0.0.1 Port={four} CPUs=2 State=DOWN Reason="no power"
PartitionName=gpu Nodes=gpu[1-4] Default=NO MaxTime=INFINITE State=UP
PartitionName=spare Nodes=gpu4 Default=NO State=UP
"""
_GPUS = """\
NodeName=gpu1 Name=gpu Type=p100 File={root}/nvidia0
NodeName=gpu2 Name=gpu Type=b200 File={root}/nvidia[0-1]
"""


@dataclass(frozen=True)
class Cluster:
    """Nodes gpu1 and gpu2 that work, gpu3 is drained, gpu4 is down; partitions `gpu` and `spare`."""

    root: Path
    environ: dict[str, str]

    def ask(self, program: str, *arguments: str) -> str:
        """Run one of Slurm's programs; return what it printed."""
        ended = subprocess.run(
            [program, *arguments],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return ended.stdout + ended.stderr

    def home(self, node: str, home: Path | None = None) -> Path:
        """Give a node a home, its own if none is named; return it."""
        home = home or self.root / node / "home"
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        variables = {
            "HOME": home,
            "TMPDIR": home / "tmp",
            "GPUENV_DATA_DIR": home / "data",
            "PATH": f"{self.root / node}:{Path(sys.executable).resolve().parent}:/usr/bin:/bin",
            "UV_NO_CONFIG": "1",
            "UV_CACHE_DIR": home / "uv",
            "PIP_CONFIG_FILE": os.devnull,
            "FAKE_TORCH": json.dumps({"gpus": [_known_to_torch(gpu) for gpu in _GPUS_OF[node]]}),
        }
        lines = "".join(f"export {name}={value}\n" for name, value in variables.items())
        (self.root / node / "variables").write_text(lines, encoding="utf-8")
        return home

    def submit(self, *arguments: str) -> str:
        """Send a job with sbatch; return its number."""
        return self.ask("sbatch", "--parsable", f"--chdir={self.root}", *arguments).strip()

    def wait(self, job: str, *states: str) -> None:
        """Wait until a job is in one of these states, or is gone."""
        while (
            state := self.ask("squeue", "-h", "-j", job, "-o", "%T").strip()
        ) in _KNOWN and state not in states:
            time.sleep(0.1)


@contextmanager
def slurm_cluster(root: Path) -> Iterator[Cluster]:
    """Run a controller and three nodes until the block ends; skip where they do not start."""
    cluster = _written(root)
    logs = [(root / f"{name}.out").open("wb") for name in ("slurmctld", *NODES[:3])]
    argvs = [["slurmctld", "-D", "-i"], *(["slurmd", "-D", "-N", node] for node in NODES[:3])]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for argv, log in zip(argvs, logs, strict=True):
            value = shutil.which(argv[0], path=_SEARCHED) or argv[0]
            running.append(
                subprocess.Popen(
                    [value, *argv[1:]],
                    env=cluster.environ,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        _await(cluster, running)
        yield cluster
    finally:
        cluster.ask("scancel", "--partition=gpu")
        for process in reversed(running):
            process.send_signal(signal.SIGTERM)
        for process in reversed(running):
            _ended(process)
        for log in logs:
            log.close()


def _ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _written(root: Path) -> Cluster:
    ports = dict(zip(("controller", "one", "two", "three", "four"), _free_ports(5), strict=True))
    user = pwd.getpwuid(os.geteuid()).pw_name
    (root / "state").mkdir(parents=True)
    (root / "slurm.conf").write_text(_SETTINGS.format(root=root, user=user, **ports), encoding="utf-8")
    (root / "gres.conf").write_text(_GPUS.format(root=root), encoding="utf-8")
    for name in ("nvidia0", "nvidia1"):
        (root / name).touch()
    prolog = root / "prolog"
    prolog.write_text(_PROLOG.format(root=root), encoding="utf-8")
    prolog.chmod(0o755)
    environ = {
        "PATH": _SEARCHED, "SLURM_CONF": str(root / "slurm.conf"), "HOME": str(root), "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    cluster = Cluster(root, environ)
    for node in NODES:
        (root / f"spool-{node}").mkdir()
        cluster.home(node)
        _guard(fake_nvidia_smi(root / node, DRIVER, *_GPUS_OF[node]))
        (root / node / "uv").symlink_to(uv.find_uv_bin())
    return cluster


def _known_to_torch(gpu: FakeGpu) -> tuple[str, list[int]]:
    return gpu.name, [int(part) for part in gpu.capability.split(".")]


def _guard(program: Path) -> None:
    """Show GPUs to jobs alone that asked for them, as Slurm does it on most clusters (ConstrainDevices)."""
    head, _, rest = program.read_text(encoding="utf-8").partition("\n")
    guard = '[ -n "$SLURM_GPUS_ON_NODE" ] || { echo "No devices were found"; exit 6; }'
    program.write_text(f"{head}\n{guard}\n{rest}", encoding="utf-8")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [pair.getsockname()[1] for pair in sockets]
    finally:
        for item in sockets:
            item.close()


def _await(cluster: Cluster, running: list[subprocess.Popen[bytes]]) -> None:
    """Wait until the nodes are there, and take one away."""
    until = time.monotonic() + _START_S
    while cluster.ask("sinfo", "-h", "-N", "-n", "gpu[1-3]", "-p", "gpu", "-o", "%T").split() != ["idle"] * 3:
        if time.monotonic() > until or any(process.poll() is not None for process in running):
            said = "\n".join(path.read_text(errors="replace")[-2000:] for path in cluster.root.glob("*.out"))
            pytest.skip(f"slurm does not start here: {said}")
        time.sleep(0.1)
    cluster.ask("scontrol", "update", "nodename=gpu3", "state=drain", f"reason={DRAINED}")
