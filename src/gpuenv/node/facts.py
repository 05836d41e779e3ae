"""Gather the texts from which gpuenv detects a machine; nothing of them is interpreted here.

`gpuenv.host.remote` parses them. They are what `gpuenv.host` reads on its own machine, except NVML, and that
each Python reports itself what it is.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
import time
from collections.abc import Mapping
from typing import Any

from .pythons import find_pythons
from .running import Ended, absolute_path, run

NVIDIA_SMI_LIMIT_S = 30.0
_PROGRAM_LIMIT_S = 10.0
_LARGEST = 65536
_MOST = 256
# The query that gpuenv itself begins with, and what it asks where a driver refuses a field of it.
FIELDS = (
    "index", "name", "driver_version", "uuid", "pci.bus_id", "pci.device_id", "memory.total",
    "mig.mode.current", "compute_cap",
)  # fmt: skip
_NEWEST = ["mig.mode.current", "compute_cap"]  # a driver without the first has not the second
_DRIVER = "driver_version"
_FORMAT = "--format=csv,noheader,nounits"
_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "container", "KUBERNETES_SERVICE_HOST", "CUDA_HOME", "CUDA_PATH",
    "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_TOOLKIT_HOME",
)  # fmt: skip
_TEXTS = (
    "proc/driver/nvidia/version", "proc/driver/nvidia/gpus/*/information", "proc/sys/kernel/osrelease",
    "proc/version", "proc/1/cgroup", "proc/device-tree/compatible", "etc/nv_tegra_release",
    "sys/class/kfd/kfd/topology/nodes/*/properties", "sys/module/amdgpu/version",
    "usr/local/Ascend/ascend-toolkit/latest/*-linux/ascend_toolkit_install.info",
)  # fmt: skip
_MARKERS = (
    "dev/nvidiactl", "dev/nvidia0", "dev/dxg", "run/.containerenv", ".dockerenv", ".singularity.d",
    "usr/lib/wsl/drivers/*",
)  # fmt: skip
_WSL_SMI = "usr/lib/wsl/lib/nvidia-smi"
_VENDORS = (
    "0x10de", "0x1002", "0x8086", "0x19e5", "0x1da3", "0x1ae0", "0xcabc", "0x1ed5", "0x1d94",
)  # fmt: skip
_CLASSES = ("0x03", "0x12", "0x0b", "0xff", "0x08", "0x00")
_OF_A_DEVICE = ("vendor", "class", "device", "revision", "product_name", "mem_info_vram_total")
_TOOLS = ("uv", "conda", "mamba", "micromamba")


def gather_facts(
    environ: Mapping[str, str], root: str = "/", limit_s: float = NVIDIA_SMI_LIMIT_S
) -> dict[str, Any]:
    """Return the facts of this machine; `root` is where /proc, /sys, /dev and /etc are.

    `limit_s` is nvidia-smi's, in seconds.
    """
    files, links = _read_files(root)
    return {
        "platform": sys.platform,
        "architecture": os.uname().machine,
        "libc": _libc(),
        "musl": _musl(environ, root),
        "environ": {name: environ[name] for name in _VARIABLES if name in environ},
        "files": files,
        "links": links,
        "nvidia_smi": _nvidia_smi(environ, root, limit_s),
        "toolkit": _toolkit(environ, root),
        "tools": {name: value for name in _TOOLS for value in [_which(name, environ)] if value},
        "pythons": find_pythons(environ),
    }


def _which(name: str, environ: Mapping[str, str]) -> str | None:
    value = shutil.which(name, path=absolute_path(environ))
    return os.path.abspath(value) if value else None


# files


def _read_files(root: str) -> tuple[dict[str, str | None], dict[str, str]]:
    """Return the texts by their paths (None: it is there), and where links lead to."""
    files = {}  # type: dict[str, str | None]
    files.update({path: None for pattern in _MARKERS for path in _matching(root, pattern)})
    files.update({path: _read(root, path) for pattern in _TEXTS for path in _matching(root, pattern)})
    links = {}  # type: dict[str, str]
    for device in _matching(root, "sys/bus/pci/devices/*"):
        if (_read(root, device + "/vendor") or "").strip().lower() not in _VENDORS:
            continue
        if not (_read(root, device + "/class") or "").startswith(_CLASSES):
            continue
        texts = {device + "/" + name: _read(root, device + "/" + name) for name in _OF_A_DEVICE}
        files.update({path: text for path, text in texts.items() if text is not None})
        try:
            links[device + "/driver"] = os.readlink(os.path.join(root, device, "driver"))
        except OSError:
            continue
    return files, links


def _matching(root: str, pattern: str) -> list[str]:
    """Return the paths below the root that are there, in order."""
    values = sorted(glob.glob(os.path.join(glob.escape(root), pattern)))
    return [os.path.relpath(path, root) for path in values][:_MOST]


def _read(root: str, path: str) -> str | None:
    location = os.path.join(root, path)
    try:
        if not os.path.isfile(location):
            return None
        with open(location, "rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return None


# the C library


def _libc() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):  # musl knows no such name
        return None


def _musl(environ: Mapping[str, str], root: str) -> dict[str, Any] | None:
    loaders = _matching(root, "lib/ld-musl-*.so.1")
    if not loaders:
        return None
    loader = os.path.join(root, loaders[0])
    return {"loader": loader, "ended": run([loader], _PROGRAM_LIMIT_S, environ).as_facts()}


# nvidia-smi


def _nvidia_smi(environ: Mapping[str, str], root: str, limit_s: float) -> dict[str, Any] | None:
    """Query nvidia-smi, and where that fails all that may explain it; None without nvidia-smi."""
    wsl = os.path.join(root, _WSL_SMI)
    program = _which("nvidia-smi", environ) or (wsl if os.access(wsl, os.X_OK) else None)
    if program is None:
        return None
    until = time.monotonic() + limit_s
    calls = []  # type: list[dict[str, Any]]

    def call(*arguments: str) -> Ended:
        ended = run([str(program), *list(arguments)], max(until - time.monotonic(), 0.01), environ)
        calls.append(dict(ended.as_facts(), arguments=list(arguments)))
        return ended

    def query(fields: tuple[str, ...]) -> Ended:
        return call("--query-gpu=" + ",".join(fields), _FORMAT)

    fields = FIELDS  # type: tuple[str, ...]
    ended = query(fields)
    while not ended.timed_out and len(_fewer(fields, ended)) < len(fields):
        fields = _fewer(fields, ended)
        ended = query(fields)
    if not ended.timed_out and not _is_whole(ended, fields):
        call()
        call("-L")
    return {"program": program, "limit_s": limit_s, "calls": calls}


def _fewer(fields: tuple[str, ...], ended: Ended) -> tuple[str, ...]:
    """Leave out a field that is refused (`Field "compute_cap" is not a valid field to query.`).

    Where none is named, in whatever language, it is one of the newest.
    """
    printed = ended.stdout + ended.stderr
    newest = [field for field in _NEWEST if field in fields]
    named = [field for field in fields if f'"{field}"' in printed]
    refused = named[:1] or ([] if ended.ok else newest[-1:])
    if refused == _NEWEST[:1]:
        refused = list(_NEWEST)
    return tuple(field for field in fields if field not in refused)


def _is_whole(ended: Ended, fields: tuple[str, ...]) -> bool:
    """Whether every line is a row that names the driver: then there is nothing more to ask."""
    rows = [line.split(",") for line in ended.stdout.splitlines() if line.strip()]
    if not ended.ok or not rows or _DRIVER not in fields or any(len(row) != len(fields) for row in rows):
        return False
    return all(row[fields.index(_DRIVER)].strip()[:1].isdigit() for row in rows)


# the toolkit


def _toolkit(environ: Mapping[str, str], root: str) -> dict[str, Any] | None:
    """Find nvcc as torch's extension builder does, and what tells its version."""
    homes = [environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.path.isabs(environ.get(name, ""))]
    folders = [os.path.join(home, "bin") for home in homes]
    folders += [absolute_path(environ), os.path.join(root, "usr/local/cuda/bin")]
    nvcc = shutil.which("nvcc", path=os.pathsep.join(filter(None, folders)))
    if nvcc is None:
        return None
    folder = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    texts = {name: _read(folder, name) for name in ("version.json", "version.txt")}
    facts = None if any(texts.values()) else run([nvcc, "--version"], _PROGRAM_LIMIT_S, environ).as_facts()
    return {"nvcc": os.path.abspath(nvcc), "folder": folder, "texts": texts, "ended": facts}
