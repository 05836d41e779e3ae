"""Run child.py with an environment's own Python."""

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
SHARE_OF_A_TEST = 1 / 3  # so that after a test that hangs the others are run
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
    """Run the tests with `python`, an absolute path, in an empty directory without a stray `torch.py`."""
    try:
        with temporary_folder("gpuenv-verify-") as location:
            result = Path(location) / "result.json"
            folder = Path(location) / "start"
            folder.mkdir()
            argv = [
                python,
                str(CHILD),
                str(result),
                *(["--devices", ",".join(map(str, devices))] if devices else []),
            ]
            argv += ["--compile"] * compile + ["--nccl"] * nccl
            argv += ["--limit", f"{timeout_s * SHARE_OF_A_TEST:g}"]
            variables = _environ(python, environ)
            ended = run(argv, timeout_s=timeout_s, environ=variables, cwd=folder, limit=_KEPT_BYTES)
            return ChildOutcome(stop_of(ended, timeout_s), _read(result), _printed(ended))
    except OSError as error:  # the temporary directory
        return ChildOutcome(Stop("not-started", reason_of(error)), None, ())


def _environ(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Put the environment's programs first on PATH, as activation does: torch.compile needs some."""
    beside, root = Path(python).parent, environment_of(Path(python))
    if root is None:
        return dict(environ)
    folders = [beside, root / "Scripts", root / "Library" / "bin"] if os.name == "nt" else [beside]
    return {**environ, "PATH": os.pathsep.join([*map(str, folders), environ.get("PATH", os.defpath)])}


def stop_of(ended: Completed, timeout_s: float) -> Stop | None:
    """Return how the child failed, None if it did not; `timeout_s` was its time limit."""
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
    """Parse the JSON that the child wrote; raise ValueError."""
    try:
        document: object = json.loads(text)
    except RecursionError as error:
        raise ValueError(tr("the document is nested too deeply")) from error
    return document


def _printed(ended: Completed) -> tuple[str, ...]:
    """Return the printed lines, the middle of many left out."""
    lines = [line.rstrip() for line in (ended.stdout + "\n" + ended.stderr).splitlines() if line.strip()]
    if len(lines) <= _KEPT_LINES:
        return tuple(lines)
    half = _KEPT_LINES // 2
    left_out = tr("({count} lines left out)", count=len(lines) - 2 * half)
    return (*lines[:half], left_out, *lines[-half:])
