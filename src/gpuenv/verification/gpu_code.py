"""Which of the code that torch lists a GPU runs."""

from __future__ import annotations

from typing import Literal

from gpuenv.model.capability import Architecture, ComputeCapability, parse_architecture

Code = Literal["machine code", "ptx"]


def find_code(listed: tuple[str, ...], capability: ComputeCapability) -> tuple[Code, Architecture] | None:
    """Return what the GPU runs of the architectures that torch lists; None: nothing fits."""
    architectures = tuple(parsed for text in listed if (parsed := _parse(text)) is not None)
    fitting = tuple(item for item in architectures if item.runs_on(capability))
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
