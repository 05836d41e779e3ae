"""The GPUs that CUDA_VISIBLE_DEVICES leaves visible."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuenv.model.machine import Gpu

VARIABLE = "CUDA_VISIBLE_DEVICES"
_NUMBER = re.compile(r"\s*\+?(\d{1,9})")
_OLD_MIG = re.compile(r"MIG-(GPU-[^/]+)/")


def parse_visible(text: str | None, gpus: Sequence[Gpu]) -> frozenset[int]:
    """Return the indices that are visible with a value of CUDA_VISIBLE_DEVICES, None if it is not set.

    As CUDA does: numbers, or starts of UUIDs (`GPU-...`, `MIG-...`); the first invalid entry hides itself and
    all after it, an entry given twice hides everything.
    Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide (environment variables), torch.cuda.
    """
    nameless = all(gpu.uuid is None for gpu in gpus)
    if text is None or (text.strip().startswith("GPU-") and nameless):  # unknown without UUIDs
        return frozenset(gpu.index for gpu in gpus)
    if text.strip().startswith("MIG-"):
        return _visible_mig(text.split(",")[0].strip(), gpus)
    chosen: list[int] = []
    for entry in text.split(","):
        index = _device(entry.strip(), gpus)
        if index is None:
            break
        if index in chosen:
            return frozenset()
        chosen.append(index)
    return frozenset(chosen)


def _device(entry: str, gpus: Sequence[Gpu]) -> int | None:
    """Return the GPU of an entry; a number may be followed by anything, as strtoul reads it."""
    if entry.startswith("GPU-"):
        values = [gpu.index for gpu in gpus if (gpu.uuid or "").startswith(entry)]
        return values[0] if len(values) == 1 else None
    number = _NUMBER.match(entry)
    wanted = int(number[1]) if number else None
    return wanted if wanted in {gpu.index for gpu in gpus} else None


def _visible_mig(entry: str, gpus: Sequence[Gpu]) -> frozenset[int]:
    """Return the GPU of the first MIG device, which is known only in the old form `MIG-GPU-UUID/1/0`."""
    old = _OLD_MIG.match(entry)
    if old:
        return frozenset(gpu.index for gpu in gpus if gpu.uuid == old[1])
    return frozenset(gpu.index for gpu in gpus if gpu.mig is not False)
