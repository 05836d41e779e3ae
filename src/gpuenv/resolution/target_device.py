"""Devices, other than NVIDIA GPUs, that a plan must work on or leaves unused."""

from __future__ import annotations

from msgspec import Struct

from gpuenv.model.accelerator import Accelerator
from gpuenv.model.errors import Because
from gpuenv.model.machine import Machine


class TargetDevice(Struct, frozen=True):
    """A device, other than an NVIDIA GPU, that the plan must work on."""

    accelerator: Accelerator
    machine: Machine

    @property
    def label(self) -> str:
        """The device in words: its name and architecture."""
        name, architecture = self.accelerator.name, self.accelerator.architecture
        if name is None:
            return architecture or self.accelerator.vendor
        return name if architecture in (None, name) else f"{name} ({architecture})"

    @property
    def source(self) -> str:
        """Where its architecture was read."""
        field = f"accelerators.{self.machine.accelerators.index(self.accelerator)}.architecture"
        return self.machine.source_of(field)


class UnusedDevice(Struct, frozen=True):
    """A device that the plan leaves unused, and the reason in words."""

    device: TargetDevice
    because: Because
