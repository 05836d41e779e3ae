"""The nvidia-smi of this machine: found and run. What reads its answers is loaded while it runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from gpuenv.host.executables import find_executable, is_executable
from gpuenv.process import subprocesses as process

_WSL_PLACE = "usr/lib/wsl/lib/nvidia-smi"
# Fields of every driver come first, as rows may be truncated.
FIELDS = (
    "index", "name", "driver_version", "uuid", "pci.bus_id", "pci.device_id", "memory.total",
    "mig.mode.current", "compute_cap",
)  # fmt: skip
_LARGEST = 4 << 20  # bytes of an answer


def find_nvidia_smi(environ: Mapping[str, str], root: Path) -> Path | None:
    """Find nvidia-smi on PATH, else in the folders of WSL2 and Windows drivers."""
    paths = [root / _WSL_PLACE]
    if system := environ.get("SYSTEMROOT"):
        paths.append(Path(system, "System32", "nvidia-smi.exe"))
    if programs := environ.get("PROGRAMW6432") or environ.get("PROGRAMFILES"):
        paths.append(Path(programs, "NVIDIA Corporation", "NVSMI", "nvidia-smi.exe"))
    return find_executable("nvidia-smi", environ) or next(filter(is_executable, paths), None)


class NvidiaSmiProgram:
    """Runs nvidia-smi, each question once; `timeout_s` limits all calls together."""

    def __init__(self, program: Path, environ: Mapping[str, str], timeout_s: float) -> None:
        self._program, self._environ = program, environ
        self._deadline = time.monotonic() + timeout_s
        self._answers: dict[tuple[str, ...], process.Completed] = {}

    def call(self, *arguments: str) -> process.Completed:
        """Run it with arguments."""
        if arguments not in self._answers:
            left = max(self._deadline - time.monotonic(), 0.01)
            argv = [str(self._program), *arguments]
            done = process.run(argv, timeout_s=left, environ=self._environ, limit=_LARGEST)
            self._answers[arguments] = done
        return self._answers[arguments]


def query_arguments(fields: tuple[str, ...] = FIELDS) -> tuple[str, ...]:
    """Return the arguments of a query for fields."""
    return (f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
