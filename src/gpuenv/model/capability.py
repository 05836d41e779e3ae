"""Compute capabilities of GPUs and the architectures that code is compiled for."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from gpuenv.i18n.messages import tr

_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)")
_ARCHITECTURE = re.compile(r"(sm|compute)_(\d{1,2})(\d)([af]?)")


class ComputeCapability(Struct, frozen=True, order=True):
    """A GPU's compute capability, X.Y; ordered as a pair, so that 10.0 > 9.0."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


def parse_compute_capability(text: str) -> ComputeCapability:
    """Parse `8.6` as nvidia-smi prints it; raise ValueError for anything else."""
    match = _CAPABILITY.fullmatch(text.strip())
    if not match:
        raise ValueError(tr("`{text}` is not a valid compute capability (example: 8.6)", text=text))
    return ComputeCapability(int(match[1]), int(match[2]))


class Architecture(Struct, frozen=True):
    """What code in a wheel was compiled for, spelled as nvcc does: `sm_86`, `sm_90a`, `compute_120`.

    `sm` is machine code, `compute` is PTX, which the driver compiles. The suffix `a` binds the code to
    exactly that capability, `f` to its family.
    """

    kind: Literal["sm", "compute"]
    capability: ComputeCapability
    suffix: Literal["", "a", "f"] = ""

    def runs_on(self, capability: ComputeCapability) -> bool:
        """Whether code for this runs on `capability`; PTX, once the driver has compiled it.

        Machine code runs on its own capability and on later ones of the same major version, PTX on anything
        later. https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
        """
        if self.suffix == "a":
            return self.capability == capability
        if self.kind == "compute" and not self.suffix:
            return self.capability <= capability
        return self.capability.major == capability.major and self.capability.minor <= capability.minor

    def __str__(self) -> str:
        return f"{self.kind}_{self.capability.major}{self.capability.minor}{self.suffix}"


def parse_architecture(text: str) -> Architecture:
    """Parse `sm_75`, `sm_90a` or `compute_120`; raise ValueError for anything else."""
    match = _ARCHITECTURE.fullmatch(text.strip())
    if not match:
        raise ValueError(tr("`{text}` is not a valid architecture (example: sm_86)", text=text))
    kind: Literal["sm", "compute"] = "sm" if match[1] == "sm" else "compute"
    suffix: Literal["", "a", "f"] = "a" if match[4] == "a" else "f" if match[4] == "f" else ""
    return Architecture(kind, ComputeCapability(int(match[2]), int(match[3])), suffix)
