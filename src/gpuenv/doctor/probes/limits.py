"""Room and limits that programs run into: shared memory, open files, disks, the processor's abilities."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from gpuenv.host.executables import read_text
from gpuenv.model.findings import MachineLimits

_FLAGS = re.compile(r"^flags\s*:\s*(.*)$", re.MULTILINE)
_KEPT = ("avx", "avx2", "avx512f", "sse4_2")


def read_limits(root: Path, environment: Path) -> MachineLimits:
    """Read them; `environment` is a path on the disk that packages go to."""
    return MachineLimits(
        shared_memory=_size(root / "dev/shm"),
        open_files=_open_files(),
        disk_free=_free(environment),
        temporary_free=_temporary_free(),
        cpu_flags=parse_cpu_flags(read_text(root / "proc/cpuinfo") or ""),
    )


def parse_cpu_flags(text: str) -> tuple[str, ...]:
    """Return which vector instructions /proc/cpuinfo names: `flags : fpu vme sse4_2 avx avx2`."""
    match = _FLAGS.search(text)
    words = set(match[1].split()) if match else set()
    return tuple(flag for flag in _KEPT if flag in words)


def _size(path: Path) -> int | None:
    if sys.platform == "win32" or not path.is_dir():
        return None
    try:
        file_system = os.statvfs(path)
    except OSError:
        return None
    return file_system.f_frsize * file_system.f_blocks


def _open_files() -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - POSIX only

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else None


def _temporary_free() -> int | None:
    try:
        return _free(Path(tempfile.gettempdir()))
    except OSError:  # none can be written
        return 0


def _free(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None
