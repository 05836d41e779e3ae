"""Hosts of an inventory that are all this machine: each has a home, a PATH and GPUs of its own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import uv
from fake_nvidia_smi import FakeGpu, broken_nvidia_smi, fake_nvidia_smi
from tiny_wheels import tiny_wheel

_HAS_ANSIBLE = os.name == "posix" and all(map(find_spec, ("ansible", "ansible_runner")))
needs_ansible = pytest.mark.skipif(
    not (_HAS_ANSIBLE and shutil.which("ssh")), reason="ansible or ssh is not installed"
)
ADA = FakeGpu("NVIDIA GeForce RTX 4090", "8.9")
P100, B200 = FakeGpu("Tesla P100-PCIE-16GB", "6.0"), FakeGpu("NVIDIA B200", "10.0")
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
HAS_SSH = all((_SSHD, shutil.which("ssh"), shutil.which("ssh-keygen")))


@dataclass(frozen=True)
class Lab:
    """A folder with the inventory `hosts.ini`, and a folder for each host."""

    root: Path

    @property
    def inventory(self) -> Path:
        return self.root / "hosts.ini"

    def environment(self, host: str, name: str) -> Path:
        return self.root / host / "data" / "envs" / name

    def write(self, *lines: str) -> None:
        """Write the inventory: these hosts, and after them no more."""
        self.inventory.write_text("\n".join(["[gpus]", *lines, ""]), encoding="utf-8")

    def local(
        self,
        host: str,
        driver: str = "550.54.14",
        *gpus: FakeGpu,
        more: Mapping[str, str] | None = None,
        **variables: str,
    ) -> str:
        """Make a host that is served without a connection; return its line of the inventory."""
        programs = self.root / host / "bin"
        programs.mkdir(parents=True)
        fake_nvidia_smi(programs, driver, *(gpus or (ADA,)))
        (programs / "uv").symlink_to(uv.find_uv_bin())
        given = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        return self.line(host, more=more, **{**given, **variables})

    def line(self, host: str, *, more: Mapping[str, str] | None = None, **variables: str) -> str:
        """Return the line of a host that is as it is: `gpuenv_environment` is what is its own, and `more`."""
        home = self.root / host
        own = {
            "HOME": str(home),
            "GPUENV_DATA_DIR": str(home / "data"),
            "PATH": f"{home / 'bin'}:{Path(sys.executable).resolve().parent}:/usr/bin:/bin",
            "UV_NO_CONFIG": "1",
            "UV_CACHE_DIR": str(self.root / "uv"),
            "PIP_CONFIG_FILE": os.devnull,
            **(more or {}),
        }
        given = {**variables, "gpuenv_environment": json.dumps(own)}
        return " ".join([host, *(f"{name}='{value}'" for name, value in given.items())])

    def loses_its_driver(self, host: str) -> None:
        """Let a host's driver be another than its library, until it is started again."""
        words = "Failed to initialize NVML: Driver/library version mismatch"
        broken_nvidia_smi(self.root / host / "bin", words, 18)

    def breaks_installing(self, host: str) -> None:
        """Give a host an installer that fails."""
        program = self.root / host / "bin" / "uv"
        program.unlink()
        program.write_text("#!/bin/sh\necho 'no such luck' >&2\nexit 1\n", encoding="utf-8")
        program.chmod(0o755)

    def away(self, host: str) -> str:
        """Return the line of a host that nobody reaches: nothing listens there."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        return f"{host} ansible_host=127.0.0.1 ansible_port={port}"

    def request(self, name: str = "paper") -> dict[str, Any]:
        """Return what is asked of a host that makes an environment with one tiny package."""
        wheel = self.root / "wheels" / "tiny-1.0-py3-none-any.whl"
        if not wheel.exists():
            tiny_wheel(wheel.parent, "tiny", "1.0")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines = ["--no-index", f"--find-links {wheel.parent}", f"tiny==1.0 --hash=sha256:{digest}", ""]
        return {
            "name": name, "python": VERSION, "requirements": "\n".join(lines), "hashed": True,
            "fingerprint": digest, "names": ["tiny"], "size": 1000, "record": {"plan": {"python": VERSION}},
        }  # fmt: skip


def torch_with(*gpus: FakeGpu, **settings: Any) -> dict[str, str]:
    """Return the variable by which a host's tiny torch knows its GPUs."""
    capable = [(gpu.name, [int(part) for part in gpu.capability.split(".")]) for gpu in gpus]
    return {"FAKE_TORCH": json.dumps({"gpus": capable, **settings})}


@contextmanager
def ssh_host(lab: Lab, host: str) -> Iterator[tuple[str, ...]]:
    """Run a real sshd for a host; the lines are of that host and of one whose key nobody knows."""
    path = lab.root / "sshd"
    path.mkdir()
    lab.local(host)
    for key in ("host", "user"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path / key))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "Port": port, "ListenAddress": "127.0.0.1", "HostKey": path / "host", "StrictModes": "no",
        "AuthorizedKeysFile": path / "user.pub", "PidFile": "none", "UsePAM": "no",
        "PasswordAuthentication": "no", "Subsystem": "sftp internal-sftp",
    }  # fmt: skip
    (path / "config").write_text("\n".join(f"{name} {value}" for name, value in settings.items()))
    key = (path / "host.pub").read_text(encoding="utf-8")
    (path / "known").write_text(f"[127.0.0.1]:{port} {key}", encoding="utf-8")
    arguments = [str(_SSHD), "-D", "-e", "-f", str(path / "config")]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            if "listening" not in said:
                pytest.skip(f"sshd does not start here: {said}")
            yield tuple(_ssh_line(lab, name, path, port) for name in (host, "stranger"))
        finally:
            server.kill()


def _ssh_line(lab: Lab, host: str, place: Path, port: int) -> str:
    known = place / ("known" if host != "stranger" else "nothing")
    return lab.line(
        host,
        ansible_host="127.0.0.1",
        ansible_port=str(port),
        ansible_ssh_private_key_file=str(place / "user"),
        ansible_ssh_common_args=f"-F none -o UserKnownHostsFile={known} -o GlobalKnownHostsFile=/dev/null "
        "-o ControlMaster=no -o ControlPath=none",  # a socket below a test's folder has too long a path
        ansible_python_interpreter=sys.executable,
    )


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
