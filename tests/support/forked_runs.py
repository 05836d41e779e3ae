"""gpuenv's command line in many short processes: one process has loaded it, and forks for each run.

So a run costs what the command itself does, and its CPU and memory are known, and end at a limit. Run as a
program this is the process that forks; `ForkedRuns` is its other end.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

_CPU_S = 30  # after which a run is killed
_WALL_S = 120  # after which one that waits for something is killed
_MEMORY = 3 << 30  # bytes of addresses, threads' stacks among them
_OUTPUT = 4 << 20
_NOT_LOADED = (
    "gpuenv.node",
    "gpuenv.fleet.engines",
    "gpuenv.verification",
    "gpuenv.__main__",
    "gpuenv.doctor.probes.windows",
)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: `status` is negative for a signal; what it took is with its children."""

    status: int
    out: str
    err: str
    cpu_s: float
    peak_mib: float

    @property
    def said(self) -> str:
        """All that it printed."""
        return self.out + self.err


class ForkedRuns:
    """The process that forks; each `run` is one command line."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        folder: Path,
        stdin: Path | str = os.devnull,
    ) -> Ended:
        """Run gpuenv to its end, with `stdin` as a file."""
        collections = {
            "arguments": [str(argument) for argument in arguments],
            "environ": dict(environ),
            "folder": str(folder),
            "stdin": str(stdin),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(collections) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._process.stdout.readline()))


def _serve() -> None:
    """Fork for each line that comes, and answer with a line."""
    _load()
    for line in sys.stdin:
        print(json.dumps(_forked(json.loads(line))), flush=True)


def _load() -> None:
    """Load what commands load one after the other, and the matrices: each child then has them."""
    import importlib  # noqa: PLC0415
    import pkgutil  # noqa: PLC0415

    import gpuenv  # noqa: PLC0415

    for module in pkgutil.walk_packages(gpuenv.__path__, "gpuenv."):
        if not module.name.startswith(_NOT_LOADED):
            importlib.import_module(module.name)
    for name in (
        "ruamel.yaml",
        "tomllib" if sys.version_info >= (3, 11) else "tomli",
        "requests",
        "rich.console",
    ):
        importlib.import_module(name)
    from gpuenv.planning.load_knowledge import load_knowledge  # noqa: PLC0415

    load_knowledge({"GPUENV_DATA_DIR": os.devnull})


def _forked(asked: dict[str, Any]) -> dict[str, Any]:
    folder = Path(asked["folder"])
    outputs = [folder / f".{name}-of-run" for name in ("out", "err")]
    child = os.fork()
    if child == 0:
        try:
            _become(asked, outputs)
        except BaseException as error:  # noqa: BLE001 - whatever it is, this process ends here
            os.write(2, f"not run: {error!r}".encode())
        os._exit(99)
    status, used = _wait(child)
    texts = []
    for output in outputs:
        with output.open("rb") as file:
            texts.append(file.read(_OUTPUT).decode("utf-8", errors="replace"))
        output.unlink()
    return {
        "status": os.waitstatus_to_exitcode(status),
        "out": texts[0],
        "err": texts[1],
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / 1024,
    }


def _wait(child: int) -> tuple[int, resource.struct_rusage]:
    """Wait for a run, which is killed with all that it started once it has waited for too long itself."""
    ends = time.monotonic() + _WALL_S
    pause = 0.001
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            return status, used
        if time.monotonic() > ends:
            os.killpg(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def _become(asked: dict[str, Any], outputs: list[Path]) -> None:
    os.setpgid(0, 0)
    os.chdir(asked["folder"])
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, location in enumerate((asked["stdin"], *outputs)):
        os.dup2(os.open(location, os.O_RDONLY if number == 0 else new, 0o600), number)
    os.environ.clear()
    os.environ.update(asked["environ"])
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for number, mode in enumerate(("r", "w", "w")):
        stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, ("stdin", "stdout", "stderr")[number], stream)
    sys.argv = ["gpuenv", *asked["arguments"]]
    from gpuenv.__main__ import main  # noqa: PLC0415

    status: object = 0
    try:
        main()
    except SystemExit as error:
        status = error.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    _serve()
