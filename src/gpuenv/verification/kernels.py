"""Which of the code in a build a GPU runs.

Machine code for X.Z runs on X.Y where Z <= Y; PTX for X.Y runs on X.Y and anything later, once the driver has
compiled it. Targets with the suffix `a` are bound to exactly that capability, with `f` to its family.
https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
"""

from __future__ import annotations

from typing import Literal

from gpuenv.values.capability import Architecture, ComputeCapability, parse_architecture

Code = Literal["machine code", "ptx"]


def find_code(listed: tuple[str, ...], capability: ComputeCapability) -> tuple[Code, Architecture] | None:
    """Return what the GPU runs of the architectures that torch lists; None: nothing fits."""
    architectures = tuple(parsed for text in listed if (parsed := _parse(text)) is not None)
    fitting = tuple(item for item in architectures if _fits(item, capability))
    native = tuple(item for item in fitting if item.kind == "sm")
    if native:
        return "machine code", max(native, key=_nearness)
    return ("ptx", max(fitting, key=_nearness)) if fitting else None


def _parse(text: str) -> Architecture | None:
    try:
        return parse_architecture(text)
    except ValueError:  # gfx90a of ROCm, or a spelling to come
        return None


def _nearness(architecture: Architecture) -> tuple[ComputeCapability, str]:
    return architecture.capability, architecture.suffix


def _fits(architecture: Architecture, capability: ComputeCapability) -> bool:
    target = architecture.capability
    if architecture.suffix == "a":
        return target == capability
    in_family = target.major == capability.major and target.minor <= capability.minor
    if architecture.kind == "sm" or architecture.suffix == "f":
        return in_family
    return target <= capability
