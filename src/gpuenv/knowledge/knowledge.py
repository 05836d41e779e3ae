"""What the matrices know, with the look-ups that decisions need; every fact keeps its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from packaging.version import Version

from gpuenv.knowledge.dependencies import Dependencies
from gpuenv.knowledge.driver_floors import driver_branches, family_floors, release_floors
from gpuenv.knowledge.ecosystem import Ecosystem
from gpuenv.knowledge.gpu_names import GpuFact, GpuNames, parse_gpu_fact, parse_pci_id
from gpuenv.knowledge.jetson_boards import Board, parse_board
from gpuenv.knowledge.python_releases import PythonRelease, parse_python_release
from gpuenv.knowledge.records import (
    ArchitectureSupport,
    CompanionRelease,
    Companions,
    DriverFloor,
    DriverOs,
    KnownBad,
    LibraryFloor,
    Row,
    as_capability,
    as_cuda_version,
    as_version,
    or_none,
    parse_architecture_support,
    parse_companion_release,
    parse_companions,
    parse_known_bad,
    parse_library_floor,
    parse_torch_build,
)
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.model.wheel import IndexKind, Platform, TorchBuild

if TYPE_CHECKING:
    from gpuenv.knowledge.accelerator_facts import AcceleratorFacts


class Knowledge(Struct, frozen=True, eq=False, dict=True):
    """The matrices as values; a table is read when it is first asked for, which may raise ValueError."""

    torch_rows: Sequence[Row] = ()
    cuda_rows: Sequence[Row] = ()
    gpu_rows: Sequence[Row] = ()
    companion_rows: Sequence[Row] = ()
    known_bad_rows: Sequence[Row] = ()
    library_rows: Sequence[Row] = ()
    ecosystem_rows: Sequence[Row] = ()
    tegra_rows: Sequence[Row] = ()
    python_rows: Sequence[Row] = ()
    dependency_rows: Callable[[], Sequence[Row]] = tuple
    accelerator_rows: Callable[[str], Sequence[Row]] = lambda _table: ()

    # torch

    @cached_property
    def builds(self) -> tuple[TorchBuild, ...]:
        """All builds of torch, oldest first."""
        return tuple(parse_torch_build(row) for row in self.torch_rows)

    def find_build(
        self, torch: Version, variant: Variant, platform: Platform, index: IndexKind
    ) -> TorchBuild | None:
        """Find the build of that kind of index, else the same variant's of the other kind."""
        others: dict[IndexKind, IndexKind] = {"pypi": "pytorch", "pytorch": "pypi"}
        release = _release_of(torch)
        build = self._by_key.get((release, variant, platform, index))
        return build or self._by_key.get((release, variant, platform, others.get(index, index)))

    def builds_of(self, platform: Platform) -> tuple[TorchBuild, ...]:
        """The builds for one platform, oldest first."""
        return self._by_platform.get(platform, ())

    def pypi_variant(self, torch: Version, platform: Platform) -> Variant | None:
        """Tell which variant PyPI's build of a release is."""
        return self._pypi_variants.get((_release_of(torch), platform))

    @cached_property
    def _by_key(self) -> dict[tuple[Version, Variant, Platform, IndexKind], TorchBuild]:
        return {(build.torch, build.variant, build.platform, build.index): build for build in self.builds}

    @cached_property
    def _by_platform(self) -> dict[Platform, tuple[TorchBuild, ...]]:
        grouped: dict[Platform, list[TorchBuild]] = {}
        for build in self.builds:
            grouped.setdefault(build.platform, []).append(build)
        return {platform: tuple(builds) for platform, builds in grouped.items()}

    @cached_property
    def _pypi_variants(self) -> dict[tuple[Version, Platform], Variant]:
        builds = (build for build in self.builds if build.index == "pypi")
        return {(build.torch, build.platform): build.variant for build in builds}

    # CUDA and drivers

    def release_floor(self, cuda: CudaVersion, os: DriverOs) -> DriverFloor | None:
        """The driver floor of a CUDA release itself: the strictest of its updates'."""
        return self._release_floors.get((cuda, os))

    def family_floor(self, major: int, os: DriverOs) -> DriverFloor | None:
        """The driver floor of a CUDA major under minor-version compatibility; none before CUDA 11."""
        return self._family_floors.get((major, os))

    def driver_cuda(self, driver: Version, os: DriverOs) -> CudaVersion | None:
        """Tell the newest CUDA that a driver supports, from the newest branch that is not newer than it."""
        fitting = [entry for entry in self.branches.get(os, ()) if entry[0] <= driver.major]
        return fitting[-1][1] if fitting else None

    def architecture_of(self, capability: ComputeCapability) -> ArchitectureSupport | None:
        """Find the GPU generation of a compute capability."""
        return self.generations.get(capability)

    def first_generation(self, capability: ComputeCapability) -> ArchitectureSupport | None:
        """Find the first generation of the capability's major version: its CUDA knew such GPUs first."""
        return self._first_generations.get(capability.major)

    def is_integrated(self, capability: ComputeCapability, cuda: CudaVersion | None) -> bool:
        """Whether code for an integrated device (Tegra) runs on that device alone.

        With `cuda`: whether that device runs no other code either, which a CUDA version may have ended.
        """
        if capability not in self._integrated:
            return False
        until = self._integrated[capability]
        return cuda is None or until is None or cuda < until

    @cached_property
    def _first_generations(self) -> dict[int, ArchitectureSupport]:
        first: dict[int, ArchitectureSupport] = {}
        for capability, support in self.generations.items():
            known = first.setdefault(capability.major, support)
            if support.first_cuda < known.first_cuda:
                first[capability.major] = support
        return first

    @cached_property
    def _integrated(self) -> dict[ComputeCapability, CudaVersion | None]:
        return {
            as_capability(row["compute_capability"]): or_none(as_cuda_version, row["until_cuda"])
            for row in self._cuda("integrated")
        }

    @cached_property
    def _release_floors(self) -> Mapping[tuple[CudaVersion, DriverOs], DriverFloor]:
        return release_floors(self._cuda("release"))

    @cached_property
    def _family_floors(self) -> Mapping[tuple[int, DriverOs], DriverFloor]:
        return family_floors(self._cuda("family"))

    @cached_property
    def branches(self) -> Mapping[str, list[tuple[int, CudaVersion]]]:
        """The driver branches of each system and the newest CUDA that each supports, oldest first."""
        return driver_branches(self._cuda("branch"))

    @cached_property
    def generations(self) -> Mapping[ComputeCapability, ArchitectureSupport]:
        """All compute capabilities, with the GPU generation of each."""
        return {
            as_capability(text): parse_architecture_support(row)
            for row in self._cuda("architecture")
            for text in row["compute_capabilities"]
        }

    def _cuda(self, kind: str) -> Iterator[Row]:
        return (row for row in self.cuda_rows if row["kind"] == kind)

    # GPUs

    @cached_property
    def gpu_names(self) -> GpuNames:
        """The GPUs by their product names."""
        return GpuNames(self._gpus)

    def capability_by_pci(self, pci_id: str) -> GpuFact | None:
        """Find a GPU by its PCI device id: `2208`, `0x2208` or, as nvidia-smi prints it, `0x220810DE`."""
        return self._by_pci.get(parse_pci_id(pci_id))

    def names_of(self, capability: ComputeCapability) -> tuple[str, ...]:
        """The product names of a compute capability."""
        return tuple(gpu.name for gpu in self._gpus if gpu.capability == capability and gpu.preferred)

    @cached_property
    def boards(self) -> tuple[Board, ...]:
        """The boards with Tegra chips."""
        return tuple(parse_board(row) for row in self.tegra_rows)

    @cached_property
    def _gpus(self) -> tuple[GpuFact, ...]:
        return tuple(parse_gpu_fact(row) for row in self.gpu_rows)

    @cached_property
    def _by_pci(self) -> dict[str, GpuFact]:
        return {pci_id: gpu for gpu in reversed(self._gpus) for pci_id in gpu.pci_ids}

    @cached_property
    def accelerators(self) -> AcceleratorFacts:
        """What is known of accelerators that are no NVIDIA GPUs."""
        from gpuenv.knowledge.accelerator_facts import facts_of  # noqa: PLC0415 - for such machines alone

        return facts_of(self.accelerator_rows)

    # companions

    def companions_of(self, torch: Version) -> Mapping[str, tuple[Version, ...]]:
        """The releases that go with a torch release by project, best first; empty for an unknown release."""
        return self._companion_versions.get(_release_of(torch), {})

    def companions(self, torch: Version, project: str) -> Companions | None:
        """What goes with a torch release from one project, with its source."""
        return self._pairs.get(_release_of(torch), {}).get(project)

    def companion_release(self, project: str, version: Version) -> CompanionRelease | None:
        """Find what is known of one companion release."""
        return self._companion_releases.get((project, version))

    def torches_of(self, project: str, version: Version) -> tuple[Version, ...]:
        """The torch releases that a companion release goes with, oldest first."""
        pairs = sorted(self._companion_versions.items())
        return tuple(torch for torch, paired in pairs if version in paired.get(project, ()))

    def matches_by_major(self, project: str, version: Version) -> bool:
        """Whether a companion release runs with a torch of any CUDA of the same major version."""
        release = self.companion_release(project, version)
        return release is not None and release.cuda_match == "major"

    @cached_property
    def _pairs(self) -> dict[Version, dict[str, Companions]]:
        pairs: dict[Version, dict[str, Companions]] = {}
        for row in self.companion_rows:
            if row["kind"] == "pair":
                pairs.setdefault(as_version(row["torch"]), {})[row["project"]] = parse_companions(row)
        return pairs

    @cached_property
    def _companion_versions(self) -> dict[Version, dict[str, tuple[Version, ...]]]:
        return {
            torch: {name: pair.versions for name, pair in pairs.items() if pair.versions}
            for torch, pairs in self._pairs.items()
        }

    @cached_property
    def _companion_releases(self) -> dict[tuple[str, Version], CompanionRelease]:
        releases = (parse_companion_release(row) for row in self.companion_rows if row["kind"] == "release")
        return {(release.project, release.version): release for release in releases}

    # the rest

    @cached_property
    def python_releases(self) -> tuple[PythonRelease, ...]:
        """The releases of CPython, oldest first."""
        return tuple(parse_python_release(row) for row in self.python_rows)

    @cached_property
    def ecosystem(self) -> Ecosystem:
        """What is known of projects whose wheels are made for one torch."""
        return Ecosystem(self.ecosystem_rows)

    @cached_property
    def dependencies(self) -> Dependencies:
        """What builds of torch require."""
        return Dependencies(tuple(self.dependency_rows()))

    @cached_property
    def known_bad(self) -> tuple[KnownBad, ...]:
        """All known-bad combinations, those that are mere prose too."""
        return tuple(parse_known_bad(row) for row in self.known_bad_rows)

    @cached_property
    def libraries(self) -> tuple[LibraryFloor, ...]:
        """What the libraries of builds still support, oldest first."""
        return tuple(parse_library_floor(row) for row in self.library_rows if row["kind"] == "floor")

    def bundled_library(self, library: str, torch: Version, cuda: CudaVersion) -> str | None:
        """Tell which release of a library the builds hold whose own row does not say it."""
        return self._bundled.get((library, _release_of(torch), cuda))

    @cached_property
    def _bundled(self) -> dict[tuple[str, Version, CudaVersion], str]:
        return {
            (row["library"], as_version(row["torch"]), as_cuda_version(row["cuda"])): row["version"]
            for row in self.library_rows
            if row["kind"] == "bundled"
        }


def _release_of(torch: Version) -> Version:
    """The release a version is listed under: without its local part, post releases with the one they mend."""
    if torch.local is None and torch.post is None:
        return torch
    return as_version(torch.public if torch.is_prerelease else torch.base_version)
