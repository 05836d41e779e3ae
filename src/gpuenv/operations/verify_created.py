"""Prove an environment that was just made; what the plan promised stands in its gpuenv.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuenv.model.machine import Gpu
from gpuenv.model.plan import Plan
from gpuenv.operations.verify import VerifyOptions, VerifyResult, verify


def verify_created(
    python: Path, plan: Plan, environ: Mapping[str, str], devices: tuple[int, ...]
) -> VerifyResult:
    """Run verify on the environment of `python`, on these GPUs as nvidia-smi counts (none: on all)."""
    machine = plan.machines[0]
    chosen = tuple(gpu for gpu in machine.gpus if gpu.index in devices)
    return verify(
        str(python),
        only_devices(environ, chosen),
        machine=machine,
        remember=lambda *_: None,
        options=VerifyOptions(trust=True),  # gpuenv made it, whoever it belongs to on a network disk
    )


def only_devices(environ: Mapping[str, str], gpus: tuple[Gpu, ...]) -> dict[str, str]:
    """Return the environment in which CUDA sees these GPUs alone, in nvidia-smi's order."""
    variables = dict(environ)
    if gpus:
        variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(gpu.uuid or str(gpu.index) for gpu in gpus)
    return variables
