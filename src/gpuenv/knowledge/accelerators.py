"""The tables of accelerators that are not NVIDIA's on a PC, as values, each read when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct
from packaging.version import Version

from gpuenv.knowledge.records import Row
from gpuenv.model.wheel import Evidence

DEVICE_CLASSES = ("dgpu", "igpu", "dcgpu")
LAYOUTS = ("pep503", "flat", "releases")
# how the targets of a build are known: read in the wheel, in what builds it, by a list that others printed
TARGETS_HOW = ("wheel", "ci", "derived", "assumed")


class AcceleratorDevice(Struct, frozen=True):
    """A device by its PCI id and names; one without `kind` is recognised, and nothing is planned for it."""

    kind: str | None
    vendor: str
    name: str
    names: tuple[str, ...]  # what else people call it
    pci_vendor: str | None
    pci_id: str | None
    revision: str | None  # None: of any revision that has no row
    architecture: str | None
    chip: str | None
    discrete: bool
    source: str
    evidence: Evidence
    note: str | None = None


class AcceleratorArchitecture(Struct, frozen=True):
    """What builds are made for; `code` are the targets of builds that run on it.

    `supported` is None where the targets of a build alone say whether it runs there.
    """

    kind: str
    architecture: str
    chip: str
    generation: str
    products: tuple[str, ...]
    device_class: str
    code: tuple[str, ...]
    supported: bool | None
    source: str
    evidence: Evidence
    kfd: int | None = None
    extra: str | None = None
    in_amd_index: bool = False
    fp64: bool = True
    compiled_since: str | None = None  # the torch from which on its driver compiles what has no machine code
    least_os: str | None = None
    note: str | None = None


class BuildNeeds(Struct, frozen=True):
    """What a build needs of the machine or of what stands beside it."""

    macos: str | None = None  # by the tag of the wheel
    mps: str | None = None  # macOS from which on MPS works
    cann: str | None = None
    torch: str | None = None  # as torch_npu's metadata asks for it
    oneapi: str | None = None


class AcceleratorBuild(Struct, frozen=True):
    """A build of torch; `extra` tells whether code for a device comes by an extra of the requirement."""

    torch: Version
    kind: str
    variant: str
    platform: str
    index: str
    pythons: tuple[str, ...]
    tags: tuple[str, ...]
    targets: tuple[str, ...]
    targets_how: str
    extra: bool
    requires: BuildNeeds
    triton: str | None
    torchvision: tuple[Version, ...]
    torchaudio: tuple[Version, ...]
    source: str
    evidence: Evidence
    torch_npu: Version | None = None
    build: str | None = None
    yanked: bool = False
    note: str | None = None

    def has_code_for(self, architecture: AcceleratorArchitecture) -> bool:
        """Whether machine code in the build runs on an architecture."""
        return not set(self.targets).isdisjoint(architecture.code)


class AcceleratorIndex(Struct, frozen=True):
    """An index with torch for accelerators; `{variant}` in the address is the build's."""

    id: str
    index: str
    accelerator: str | None
    vendor: str
    layout: str
    address: str
    platforms: tuple[str, ...]
    content: str
    chooses: str
    source: str
    evidence: Evidence
    note: str | None = None


class VendorPackage(Struct, frozen=True):
    """The package that brings torch to a vendor's devices, and where it is."""

    vendor: str
    device: str
    package: str
    accelerator: str | None
    torch: str
    runtime: str
    where: str
    binds: str
    detect: str
    state: str
    source: str
    evidence: Evidence


class DriverWindow(Struct, frozen=True):
    """The ROCm releases that a kernel driver is stated to support, and those known to fail with it."""

    driver: str
    rocm: tuple[str, ...]
    fails: tuple[str, ...]
    source: str
    evidence: Evidence
    note: str | None = None


class JetsonTorch(Struct, frozen=True):
    """Where torch for a board comes from; `torch` is a specifier of the releases that there are."""

    index: str
    folder: str | None = None
    variant: str | None = None
    torch: str | None = None
    pythons: tuple[str, ...] = ()
    assumed: bool = False


class JetsonRelease(Struct, frozen=True):
    """A release of Jetson Linux, or an ARM server (without `l4t`)."""

    boards: tuple[str, ...]
    l4t: str | None
    jetpack: str | None
    cuda: str
    compute_capabilities: tuple[str, ...]
    python: str | None
    ubuntu: str | None
    userspace: str
    torch_from: tuple[JetsonTorch, ...]
    source: str
    evidence: Evidence
    driver: str | None = None
    note: str | None = None


class Condition(Struct, frozen=True):
    """Facts that together make a known-bad combination; what is empty or None is not asked."""

    kind: str | None = None
    architectures: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    torch: str | None = None
    rocm: str | None = None
    macos: str | None = None
    l4t: str | None = None
    python: str | None = None
    environment: Mapping[str, str] = {}  # `*`: any value
    packages: Mapping[str, str] = {}
    native: bool | None = None
    extra: bool | None = None
    os: str | None = None


class AcceleratorKnownBad(Struct, frozen=True):
    """A combination that installs and then fails; one of `when` must hold."""

    id: str
    vendor: str
    judge: str
    when: tuple[Condition, ...]
    when_text: tuple[str, ...]
    forbid: bool
    warn: bool
    effect: str
    error: str | None
    remedy: str
    silent: bool
    confidence: str
    source: str
    evidence: Evidence
    override: str | None = None


class Accelerators(Struct, frozen=True, eq=False, dict=True):
    """The tables by `load`, which returns the rows of one; a garbled row raises ValueError."""

    load: Callable[[str], Sequence[Row]]

    @cached_property
    def devices(self) -> tuple[AcceleratorDevice, ...]:
        """All devices, by vendor, PCI id and revision."""
        return self._read("accelerator-devices", AcceleratorDevice)

    def device(self, pci_vendor: str, pci_id: str, revision: str | None) -> AcceleratorDevice | None:
        """Find a device by its PCI ids; one of another revision, where that revision has no row."""
        known = self._by_pci.get((pci_vendor, pci_id), ())
        exact = next((row for row in known if row.revision == revision), None)
        return exact or next((row for row in known if row.revision is None), known[0] if known else None)

    @cached_property
    def architectures(self) -> Mapping[str, AcceleratorArchitecture]:
        """What builds are made for, by its name, which no two kinds share."""
        rows = self._read("accelerator-architectures", AcceleratorArchitecture)
        return {row.architecture: row for row in rows}

    @cached_property
    def builds(self) -> tuple[AcceleratorBuild, ...]:
        """All builds, oldest first."""
        return self._read("accelerator-builds", AcceleratorBuild)

    @cached_property
    def indexes(self) -> tuple[AcceleratorIndex, ...]:
        """The indexes with torch for accelerators."""
        return self._read("accelerator-indexes", AcceleratorIndex, "index")

    @cached_property
    def packages(self) -> tuple[VendorPackage, ...]:
        """Where torch for each vendor's devices is."""
        return self._read("accelerator-indexes", VendorPackage, "package")

    @cached_property
    def driver_windows(self) -> tuple[DriverWindow, ...]:
        """What AMD's kernel drivers support, by the ROCm release or package that they came with."""
        return self._read("kernel-drivers", DriverWindow, "window")

    @cached_property
    def driver_modules(self) -> Mapping[str, tuple[str, ...]]:
        """The drivers of `driver_windows` by what /sys/module/amdgpu/version shows, by another count."""
        rows = (row for row in self.load("kernel-drivers") if row["kind"] == "module")
        return {row["module"]: tuple(row["drivers"]) for row in rows}

    @cached_property
    def jetsons(self) -> tuple[JetsonRelease, ...]:
        """Releases of Jetson Linux, the newest first, and ARM servers."""
        return self._read("jetson", JetsonRelease)

    @cached_property
    def known_bad(self) -> tuple[AcceleratorKnownBad, ...]:
        """Combinations that install and then fail."""
        return self._read("accelerator-known-bad", AcceleratorKnownBad)

    @cached_property
    def _by_pci(self) -> dict[tuple[str, str], list[AcceleratorDevice]]:
        devices: dict[tuple[str, str], list[AcceleratorDevice]] = {}
        for row in self.devices:
            if row.pci_vendor and row.pci_id:
                devices.setdefault((row.pci_vendor, row.pci_id), []).append(row)
        return devices

    def _read(self, table: str, kind: Any, row_kind: str | None = None) -> tuple[Any, ...]:
        rows = [row for row in self.load(table) if row_kind is None or row["kind"] == row_kind]
        return tuple(msgspec.convert(rows, tuple[kind, ...], dec_hook=_decode))


def _decode(kind: Any, value: Any) -> Any:
    if kind is Version:
        return Version(value)
    raise NotImplementedError
