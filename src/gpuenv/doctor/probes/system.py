"""The system around an environment: its distribution, variables and limits, and what only Windows has."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gpuenv.host.executables import FileTree, is_there, read_text
from gpuenv.model.findings import MachineLimits, WindowsFacts

_RUNTIME = ("vcruntime140_1.dll", "msvcp140.dll")
_FILE_SYSTEM = r"SYSTEM\CurrentControlSet\Control\FileSystem"
_RUNTIME_KEY = r"SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\X64"
_FLAGS = re.compile(r"^flags\s*:\s*(.*)$", re.MULTILINE)
_KEPT = ("avx", "avx2", "avx512f", "sse4_2")
_OS_RELEASES = ("etc/os-release", "usr/lib/os-release")
_NAMES = frozenset(
    {
        "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "CUDA_PATH", "CUDA_LAUNCH_BLOCKING",
        "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "VIRTUAL_ENV",
        "CONDA_PREFIX", "CONDA_OVERRIDE_CUDA", "KMP_DUPLICATE_LIB_OK", "HSA_OVERRIDE_GFX_VERSION",
        "TORCH_CUDA_ARCH_LIST", "GPU_DEVICE_ORDINAL", "LOCAL_WORLD_SIZE",
        "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR",
        "ONEAPI_ROOT", "SETVARS_COMPLETED", "ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH",
    }
)  # fmt: skip
_STARTS = ("NVIDIA_", "PYTORCH_", "NCCL_")
_NAMED_ONLY = ("SLURM_", "COLAB_", "KAGGLE_")
_GRANTED = re.compile(r"SLURM_(?:JOB_ID|JOB_GPUS|STEP_GPUS|GPUS|GPUS_ON_NODE)")
_LONGEST = 4000
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)


def read_windows(environ: Mapping[str, str]) -> WindowsFacts:
    """Read them from the system's folder and the registry; None for what is not told."""
    system = Path(environ.get("SYSTEMROOT") or r"C:\Windows", "System32")
    there = all(is_there(system / name) for name in _RUNTIME)
    version = _registry(_RUNTIME_KEY, "Version")
    long_paths = _registry(_FILE_SYSTEM, "LongPathsEnabled")
    return WindowsFacts(
        runtime=str(version or "?") if there else None,
        long_paths=None if long_paths is None else bool(long_paths),
        media_pack=is_there(system / "mfplat.dll"),
    )


def _registry(key: str, name: str) -> object:
    if sys.platform != "win32":
        return None
    import winreg  # noqa: PLC0415 - Windows only

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            value: object = winreg.QueryValueEx(opened, name)[0]
            return value
    except OSError:
        return None


def read_limits(root: Path, environment: Path) -> MachineLimits:
    """Read them; `environment` is a path on the disk that packages go to."""
    shared = root / "dev/shm"
    return MachineLimits(
        shared_memory=_space(shared, "total") if shared.is_dir() else None,
        open_files=_open_files(),
        disk_free=_space(environment, "free"),
        temporary_free=_temporary_free(),
        cpu_flags=parse_cpu_flags(read_text(root / "proc/cpuinfo") or ""),
    )


def parse_cpu_flags(text: str) -> tuple[str, ...]:
    """Return which vector instructions /proc/cpuinfo names: `flags : fpu vme sse4_2 avx avx2`."""
    match = _FLAGS.search(text)
    words = set(match[1].split()) if match else set()
    return tuple(flag for flag in _KEPT if flag in words)


def _open_files() -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - POSIX only

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else None


def _temporary_free() -> int | None:
    try:
        return _space(Path(tempfile.gettempdir()), "free")
    except OSError:  # none can be written
        return 0


def _space(path: Path, kind: Literal["total", "free"]) -> int | None:
    """Return how many bytes the disk of a path has, or has left."""
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return usage.total if kind == "total" else usage.free


def read_distribution(root: FileTree) -> tuple[str, ...]:
    """Return the name of the distribution and of those that it is like, none where nothing tells it."""
    texts = (read_text(root / location) for location in _OS_RELEASES)
    return parse_os_release(next((text for text in texts if text is not None), ""))


def parse_os_release(text: str) -> tuple[str, ...]:
    """Parse `ID=linuxmint` and `ID_LIKE="ubuntu debian"` to names in lower case; others are passed over."""
    pairs = dict(line.strip().partition("=")[::2] for line in text.splitlines() if "=" in line)
    words = " ".join(_unquoted(pairs.get(key, "")) for key in ("ID", "ID_LIKE"))
    return tuple(dict.fromkeys(words.lower().split()))


def _unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value, comments=True))
    except ValueError:
        return ""


def read_variables(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the variables that matter, sorted; of services' own their names alone: they may hold secrets."""
    kept = ((name, _value(name, value)) for name, value in sorted(environ.items()) if _matters(name))
    return tuple((name, value) for name, value in kept if not _SECRET.search(name))


def _matters(name: str) -> bool:
    return name in _NAMES or name.startswith((*_STARTS, *_NAMED_ONLY))


def _value(name: str, value: str) -> str:
    hidden = name.startswith(_NAMED_ONLY) and not _GRANTED.fullmatch(name)
    return "" if hidden else value[:_LONGEST]
