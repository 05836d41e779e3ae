"""Kinds of accelerators, and devices that are not NVIDIA GPUs."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

AcceleratorKind = Literal["cuda", "rocm", "xpu", "mps", "npu", "cpu"]
ACCELERATOR_KINDS: tuple[AcceleratorKind, ...] = get_args(AcceleratorKind)


class Accelerator(Struct, frozen=True):
    """One device that is not an NVIDIA GPU; what could not be read is None.

    `kind` is None for what is recognised but not planned for (a TPU, Gaudi, MLU, MUSA or DCU card).
    `architecture` is what builds are made for: `gfx1100` (AMD), `20.1.0` (Intel's device ip), `M1` (Apple's
    chip), `Ascend910B` (Huawei's SoC). Memory is in MiB; `visible` is false where a variable
    hides the device.
    """

    kind: AcceleratorKind | None
    vendor: str  # AMD, Intel, Apple, Huawei, ...
    index: int  # among the devices of its vendor
    name: str | None = None
    architecture: str | None = None
    memory_mib: int | None = None
    pci_id: str | None = None  # four hexadecimal digits, as in pci.ids
    revision: str | None = None  # two hexadecimal digits: it tells products of one PCI id apart
    discrete: bool | None = None  # false: a part of the processor
    visible: bool = True
