"""Run the child script with an environment's own Python, and come back with whatever it left."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.process.exit_status import describe_status
from gpuenv.process.guardian import temporary_folder
from gpuenv.process.subprocesses import Completed, run
from gpuenv.verification.locate import environment_of
from gpuenv.verification.report import ChildOutcome, Stop

CHILD = Path(__file__).with_name("child.py")
TIMEOUT_S = 300.0  # starting CUDA on a node with many GPUs takes long, compiling PTX for a new GPU longer
_KEPT_LINES = 40
_KEPT_BYTES = 1 << 20
_LARGEST = 16 << 20  # bytes of what the child tells; 16 GPUs take 100 kB


def run_verification(
    python: str,
    *,
    environ: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
    devices: tuple[int, ...] | None = None,
    compile: bool = False,  # noqa: A002 - torch's word
    nccl: bool = False,
) -> ChildOutcome:
    """Run the tests with `python`, an absolute path, and return how that ended; `timeout_s` is in seconds.

    It runs as the user's own programs would, with their variables and user site, except that it starts in an
    empty directory, where no stray `torch.py` shadows the real one. `devices` are indices as torch counts.
    """
    try:
        with temporary_folder("gpuenv-verify-") as location:
            result = Path(location) / "result.json"
            (Path(location) / "start").mkdir()
            argv = [python, str(CHILD), str(result), *_options(devices, compile=compile, nccl=nccl)]
            ended = run(
                argv,
                timeout_s=timeout_s,
                environ=_environ(python, environ),
                cwd=Path(location) / "start",
                limit=_KEPT_BYTES,
            )
            return ChildOutcome(stop_of(ended, timeout_s), _read(result), _printed(ended))
    except OSError as error:  # the temporary directory
        return ChildOutcome(Stop("not-started", reason_of(error)), None, ())


def _options(devices: tuple[int, ...] | None, *, compile: bool, nccl: bool) -> list[str]:  # noqa: A002
    chosen = ["--devices", ",".join(map(str, devices))] if devices else []
    return chosen + ["--compile"] * compile + ["--nccl"] * nccl


def _environ(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Put the environment's programs first on PATH, as activating it would: torch.compile looks for some."""
    beside, root = Path(python).parent, environment_of(Path(python))
    if root is None:
        return dict(environ)
    places = [beside, root / "Scripts", root / "Library" / "bin"] if os.name == "nt" else [beside]
    return {**environ, "PATH": os.pathsep.join([*map(str, places), environ.get("PATH", os.defpath)])}


def stop_of(ended: Completed, timeout_s: float) -> Stop | None:
    """Say how the child ended where it did not end well; `timeout_s` was its limit in seconds."""
    if ended.returncode is None and not ended.timed_out:
        return Stop("not-started", ended.error or tr("it could not be started"))
    if ended.timed_out:
        return Stop("hung", tr("it timed out after {seconds} s", seconds=f"{timeout_s:g}"))
    if ended.returncode == 0:
        return None
    return Stop("crashed", describe_status(ended.returncode or 0))


def _read(result: Path) -> object | None:
    try:
        with result.open("rb") as file:
            return parse_document(file.read(_LARGEST).decode("utf-8", errors="replace"))
    except (FileNotFoundError, ValueError):
        return None


def parse_document(text: str) -> object:
    """Parse the file the child wrote, `{"schema": 1, ...}`; raise ValueError where it is no JSON."""
    try:
        document: object = json.loads(text)
    except RecursionError as error:
        raise ValueError(tr("the document is nested too deeply")) from error
    return document


def _printed(ended: Completed) -> tuple[str, ...]:
    """Return what was printed, without the middle where there is much of it."""
    lines = [line.rstrip() for line in (ended.stdout + "\n" + ended.stderr).splitlines() if line.strip()]
    if len(lines) <= _KEPT_LINES:
        return tuple(lines)
    half = _KEPT_LINES // 2
    left_out = tr("({count} lines left out)", count=len(lines) - 2 * half)
    return (*lines[:half], left_out, *lines[-half:])
