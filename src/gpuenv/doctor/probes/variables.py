"""The environment variables that decide how torch finds GPUs, libraries and packages."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMES = frozenset(
    {
        "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "CUDA_PATH", "CUDA_LAUNCH_BLOCKING",
        "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "VIRTUAL_ENV",
        "CONDA_PREFIX", "CONDA_OVERRIDE_CUDA", "KMP_DUPLICATE_LIB_OK", "HSA_OVERRIDE_GFX_VERSION",
        "TORCH_CUDA_ARCH_LIST", "GPU_DEVICE_ORDINAL", "LOCAL_WORLD_SIZE",
    }
)  # fmt: skip
_STARTS = ("NVIDIA_", "PYTORCH_", "NCCL_")
_NAMED_ONLY = ("SLURM_", "COLAB_", "KAGGLE_")
_GRANTED = re.compile(r"SLURM_(?:JOB_ID|JOB_GPUS|STEP_GPUS|GPUS|GPUS_ON_NODE)")
_LONGEST = 4000
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)


def read_variables(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the variables that matter, sorted; of services' own their names alone: they may hold secrets."""
    kept = ((name, _value(name, value)) for name, value in sorted(environ.items()) if _matters(name))
    return tuple((name, value) for name, value in kept if not _SECRET.search(name))


def _matters(name: str) -> bool:
    return name in _NAMES or name.startswith((*_STARTS, *_NAMED_ONLY))


def _value(name: str, value: str) -> str:
    hidden = name.startswith(_NAMED_ONLY) and not _GRANTED.fullmatch(name)
    return "" if hidden else value[:_LONGEST]
