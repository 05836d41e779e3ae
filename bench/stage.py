"""Where the contestants run: homes and caches of their own, a machine with a GPU that is only told of."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from replica import Replica
from uv import find_uv_bin

from gpuenv import matrices
from gpuenv.indexes.configuration.installer_default import default_index

# PyPI's host is asked of the installer, PyTorch's is the product's own data
HOSTS = tuple(
    str(urlsplit(url).hostname)
    for url in (
        default_index(os.environ),
        next(row["torch"]["address"] for row in matrices.load("mirrors") if row["name"] == "official"),
    )
)
GPUENV = (sys.executable, "-m", "gpuenv")
UV = str(find_uv_bin())
_FIELDS = (
    "NVIDIA H100 80GB HBM3, {driver}, GPU-3f1a9c7e-52b4-8d06-91ce-7a40d5e2b861, 00000000:1B:00.0, 0x233010DE"
)
_DRIVER = "580.95.05"
# Answers the two questions that are asked of it: uv's for the driver alone, gpuenv's for everything.
_NVIDIA_SMI = """#!/bin/sh
{wait}
case "$*" in
    *--query-gpu=driver_version\\ *) echo "{driver}" ;;
    *) echo "0, {fields}, 81559, Disabled, 9.0" ;;
esac
"""


@dataclass(frozen=True)
class Stage:
    """A directory with a home, caches and programs; each name of `caches` is a set of its own."""

    root: Path
    replica: Replica

    def folder(self, name: str) -> Path:
        """Return a directory, made if needed."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def empty(self, *names: str) -> None:
        """Remove what is in directories."""
        for name in names:
            shutil.rmtree(self.root / name, ignore_errors=True)

    def environ(self, caches: str, programs: str = "quick") -> dict[str, str]:
        """Return scrubbed variables: the caches `caches`, and the nvidia-smi of `programs` on PATH."""
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TMPDIR") if name in os.environ}
        home = self.folder("home")
        return {
            **kept,
            **self.replica.environment,
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join((str(self.root / programs), "/usr/bin", "/bin")),
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_CONFIG": "1",
            "UV_CACHE_DIR": str(self.root / caches / "uv"),
            "GPUENV_CACHE_DIR": str(self.root / caches / "gpuenv"),
            "GPUENV_DATA_DIR": str(self.root / caches / "data"),
        }

    def add_programs(self, name: str, wait_s: float) -> None:
        """Make a folder for PATH, with uv and an nvidia-smi that takes its time."""
        folder = self.folder(name)
        (folder / "uv").symlink_to(UV)
        fields = _FIELDS.format(driver=_DRIVER)
        wait = f"sleep {wait_s}" if wait_s else ""
        smi = folder / "nvidia-smi"
        smi.write_text(_NVIDIA_SMI.format(wait=wait, driver=_DRIVER, fields=fields), encoding="utf-8")
        smi.chmod(0o755)
