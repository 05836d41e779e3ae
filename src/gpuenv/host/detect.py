"""Detect this machine; every fact has its source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpuenv.concurrency.background import BackgroundTask
from gpuenv.host.nvidia.smi_program import NvidiaSmiProgram, find_nvidia_smi, query_arguments

if TYPE_CHECKING:
    from gpuenv.host.combine import Software
    from gpuenv.host.merge import KnowledgeSource
    from gpuenv.model.machine import Machine

NVIDIA_SMI_LIMIT_S = 30.0


def detect_machine(
    environ: Mapping[str, str],
    knowledge: KnowledgeSource,
    *,
    root: Path = Path("/"),
    timeout_s: float = NVIDIA_SMI_LIMIT_S,
) -> Machine:
    """Describe this machine; `knowledge` tells a driver's CUDA, and a capability that it does not report.

    It is called beside nvidia-smi where there is one, elsewhere if it is needed.
    """
    program = find_nvidia_smi(environ, root)
    smi = NvidiaSmiProgram(program, environ, timeout_s) if program else None

    def load_and_detect() -> Software:
        from gpuenv.host.combine import detect_software  # noqa: PLC0415 - while nvidia-smi runs

        return detect_software(environ, root)

    software = BackgroundTask(load_and_detect)
    # which CUDA a driver supports: a query does not tell
    known = BackgroundTask(knowledge).result if smi else knowledge
    if smi:  # it is slow, and runs in this thread, where Ctrl-C arrives
        smi.call(*query_arguments())

    from gpuenv.host.combine import machine_of  # noqa: PLC0415 - loaded while nvidia-smi ran
    from gpuenv.host.nvidia.hardware import find_hardware  # noqa: PLC0415
    from gpuenv.host.programs import run_program  # noqa: PLC0415
    from gpuenv.host.system import detect_system  # noqa: PLC0415

    system = detect_system(environ, root)
    hardware = find_hardware(smi, root, system[0], timeout_s)
    return machine_of(system, hardware, software.result, environ, known, root, partial(run_program, environ))
