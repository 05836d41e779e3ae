"""Variants of a torch release: for which CUDA (or for the CPU) a build was made."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from gpuenv.i18n.messages import tr

_CUDA_VARIANT = re.compile(r"cu(\d{1,2})(\d)")
_CUDA_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.\d+)*")


class CudaVersion(Struct, frozen=True, order=True):
    """A CUDA release, MAJOR.MINOR."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


def parse_cuda_version(text: str) -> CudaVersion:
    """Parse `12.6` or `12.6.3` (the update is dropped); raise ValueError for anything else."""
    match = _CUDA_VERSION.fullmatch(text.strip())
    if not match:
        raise ValueError(tr("`{text}` is not a valid CUDA version (example: 12.6)", text=text))
    return CudaVersion(int(match[1]), int(match[2]))


class Variant(Struct, frozen=True, order=True):
    """A build's variant as it stands in a local version: `cu126`, `cpu`, `rocm6.3`."""

    name: str

    @property
    def cuda(self) -> CudaVersion | None:
        """The CUDA release, None for a CPU or foreign variant; `cu92` is 9.2, `cu126` is 12.6."""
        return _cuda_of(self.name)

    @property
    def is_cpu(self) -> bool:
        """Whether it is the CPU's."""
        return self.name == "cpu"

    @property
    def is_known(self) -> bool:
        """Whether gpuenv plans such builds: CUDA and CPU, not ROCm, XPU or special packagings."""
        return self.is_cpu or self.cuda is not None

    def __str__(self) -> str:
        return self.name


CPU = Variant("cpu")


@cache
def _cuda_of(name: str) -> CudaVersion | None:
    match = _CUDA_VARIANT.fullmatch(name)
    return CudaVersion(int(match[1]), int(match[2])) if match else None


def parse_variant(text: str) -> Variant:
    """Parse `12.6`, `cu126` or `cpu` as a user writes it; raise ValueError for anything else."""
    wanted = text.strip().lower()
    if _CUDA_VERSION.fullmatch(wanted):
        cuda = parse_cuda_version(wanted)
        return Variant(f"cu{cuda.major}{cuda.minor}")
    if Variant(wanted).is_known:
        return Variant(wanted)
    raise ValueError(
        tr("`{text}` is not a valid CUDA version or variant (examples: 12.6, cu126, cpu)", text=text)
    )
