"""Variants of a torch release: for which CUDA (or for the CPU) a build was made."""

from __future__ import annotations

import re
from functools import cache, total_ordering

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.model.accelerator import AcceleratorKind

_CUDA_VARIANT = re.compile(r"cu(\d{1,2})(\d)")
_ROCM_VARIANT = re.compile(r"rocm(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)", re.ASCII)
_WITHOUT_RELEASE: tuple[AcceleratorKind, ...] = ("cpu", "xpu", "mps", "npu")
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


@total_ordering
class Variant(Struct, frozen=True):
    """A build's variant as it stands in a local version: `cu126`, `cpu`, `rocm6.3`.

    Variants are sorted by kind and release, as numbers: rocm7.14 > rocm7.2, rocm10.0 > rocm7.15.
    """

    name: str

    @property
    def kind(self) -> AcceleratorKind | None:
        """The kind of accelerator that it is for, None for special packagings."""
        return _parts_of(self.name)[0]

    @property
    def release(self) -> tuple[int, ...]:
        """The release of CUDA or ROCm as numbers, empty where a variant has none: `rocm7.14` is (7, 14)."""
        return _parts_of(self.name)[1]

    @property
    def cuda(self) -> CudaVersion | None:
        """The CUDA release, None for a CPU or foreign variant; `cu92` is 9.2, `cu126` is 12.6."""
        return _cuda_of(self.name)

    @property
    def is_cpu(self) -> bool:
        """Whether it is the CPU's."""
        return self.name == "cpu"

    @property
    def is_cuda_or_cpu(self) -> bool:
        """Whether it is CUDA's or the CPU's, of which the builds stand in matrices/torch.json."""
        return self.is_cpu or self.cuda is not None

    @property
    def is_known(self) -> bool:
        """Whether gpuenv plans such builds: not those of special packagings."""
        return self.kind is not None

    def __lt__(self, other: Variant) -> bool:
        return (self.kind or "", self.release, self.name) < (other.kind or "", other.release, other.name)

    def __str__(self) -> str:
        return self.name


CPU = Variant("cpu")


@cache
def _cuda_of(name: str) -> CudaVersion | None:
    match = _CUDA_VARIANT.fullmatch(name)
    return CudaVersion(int(match[1]), int(match[2])) if match else None


@cache
def _parts_of(name: str) -> tuple[AcceleratorKind | None, tuple[int, ...]]:
    cuda = _cuda_of(name)
    if cuda is not None:
        return "cuda", (cuda.major, cuda.minor)
    if rocm := _ROCM_VARIANT.fullmatch(name):
        return "rocm", tuple(map(int, rocm[1].split(".")))
    return next((kind for kind in _WITHOUT_RELEASE if kind == name), None), ()


def parse_variant(text: str) -> Variant:
    """Parse `12.6`, `cu126`, `rocm6.4`, `xpu` or `cpu` as a user writes it; raise ValueError for all else."""
    wanted = text.strip().lower()
    if _CUDA_VERSION.fullmatch(wanted):
        cuda = parse_cuda_version(wanted)
        return Variant(f"cu{cuda.major}{cuda.minor}")
    if Variant(wanted).is_known:
        return Variant(wanted)
    raise ValueError(
        tr(
            "`{text}` is not a valid CUDA version or variant (examples: 12.6, cu126, rocm6.4, xpu, cpu)",
            text=text,
        )
    )
