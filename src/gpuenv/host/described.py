"""What options say of a machine, as values: devices other than NVIDIA's GPUs, releases beside them."""

from __future__ import annotations

from msgspec import Struct

from gpuenv.model.accelerator import Accelerator

MAC, JETSON = "osx-arm64", "linux-aarch64"


class DescribedReleases(Struct, frozen=True):
    """What options say of a machine beside its GPUs: releases as typed, that it is WSL2.

    `kind` is that of --accelerator, which says whose GPU a name means.
    """

    macos: str | None = None
    l4t: str | None = None
    jetpack: str | None = None
    cann: str | None = None
    amdgpu: str | None = None
    wsl: bool = False
    kind: str | None = None

    @property
    def platform(self) -> str | None:
        """The platform that follows from them, if any does."""
        return MAC if self.macos else JETSON if self.l4t or self.jetpack else None

    @property
    def is_empty(self) -> bool:
        """Whether no option was given but that of the kind."""
        return self == DescribedReleases(kind=self.kind)


class NamedDevice(Struct, frozen=True):
    """A device that `--gpu` names, and where its architecture was read."""

    accelerator: Accelerator
    source: str
