"""`gpuenv detect`: what this machine is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gpuenv import matrices
from gpuenv.concurrency.background import BackgroundTask
from gpuenv.host.detect import NVIDIA_SMI_LIMIT_S, detect_machine
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError

if TYPE_CHECKING:
    from gpuenv.knowledge.knowledge import Knowledge
    from gpuenv.model.machine import Machine

T = TypeVar("T")

LIMIT_VARIABLE = "GPUENV_NVIDIA_SMI_TIMEOUT"


def detect(environ: Mapping[str, str]) -> Machine:
    """Describe this machine; `GPUENV_NVIDIA_SMI_TIMEOUT` (seconds) limits nvidia-smi.

    Raises UsageError for a limit that is not a positive number.
    """
    return detect_machine(environ, hardware_knowledge, timeout_s=_limit(environ.get(LIMIT_VARIABLE)))


def detect_in(root: Path, environ: Mapping[str, str]) -> Machine:
    """Describe the machine whose files are below `root`; raise UsageError where that is no directory."""
    from gpuenv.host.tree import detect_tree  # noqa: PLC0415 - most machines are this one

    if not root.is_dir():
        raise UsageError(tr("`{path}` is not a directory", path=root), code="bad-root")
    return detect_tree(root.resolve(), hardware_knowledge, _limit(environ.get(LIMIT_VARIABLE)))


def detect_beside(environ: Mapping[str, str], work: Callable[[], T]) -> tuple[Machine, T]:
    """Describe this machine, and return what `work` did meanwhile: nvidia-smi may take a second."""
    beside = BackgroundTask(work)
    machine = detect(environ)
    return machine, beside.result()


@cache
def hardware_knowledge() -> Knowledge:
    """Return what the matrices know about drivers and GPUs; the large table of builds is not read for it."""
    from gpuenv.knowledge.knowledge import Knowledge  # noqa: PLC0415 - a machine without GPU needs none of it

    return Knowledge(cuda_rows=matrices.load("cuda"), gpu_rows=matrices.load("gpus"))


def _limit(text: str | None) -> float:
    if not text:
        return NVIDIA_SMI_LIMIT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:  # noqa: PLR2004 - neither nan nor endless
        message = tr(
            "`{variable}={text}` is not a valid number of seconds", variable=LIMIT_VARIABLE, text=text
        )
        raise UsageError(message, code="bad-limit")
    return seconds
