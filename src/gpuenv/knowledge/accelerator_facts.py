"""What decisions ask of the tables of accelerators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.knowledge.accelerators import (
    AcceleratorArchitecture,
    AcceleratorBuild,
    AcceleratorIndex,
    AcceleratorKnownBad,
    Accelerators,
    DriverWindow,
    VendorPackage,
)
from gpuenv.knowledge.records import Row
from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import Evidence, Platform

Release = tuple[int, ...]
_MACOS = ("osx-arm64", "osx-64")


class PlannableBuild(Struct, frozen=True, eq=False):
    """A build of torch that is for no NVIDIA GPU: a torch release x variant x platform x index.

    `torch_npu` is the plugin's release, `declared` what it asks of torch, `cann` what it is made for. `mps`
    is the least macOS on which a build uses the GPU (None: it never does). With `extra` the code for a device
    comes by an extra of its own. `build` is a wheel's build tag.
    """

    torch: Version
    variant: Variant
    index: str
    platform: Platform
    pythons: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    extra: bool = False
    torch_npu: Version | None = None
    declared: SpecifierSet | None = None
    cann: str | None = None
    mps: Release | None = None
    triton: str | None = None
    build: str | None = None
    source: str = "index"
    evidence: Evidence = "assumed"

    @property
    def kind(self) -> AcceleratorKind | None:
        """The kind of accelerator that it is for."""
        return self.variant.kind


class AcceleratorFacts(Struct, frozen=True, eq=False, dict=True):
    """The tables with the look-ups that decisions need; what they name is read when it is first asked for."""

    tables: Accelerators

    def builds_of(self, kind: AcceleratorKind, platform: Platform) -> tuple[PlannableBuild, ...]:
        """The builds of a kind for a platform; those for macOS are for MPS and the CPU both."""
        either = platform in _MACOS and kind in ("mps", "cpu")
        return tuple(
            build for build in self._builds.get(platform, ()) if either or build.variant.kind == kind
        )

    @cached_property
    def _builds(self) -> Mapping[str, tuple[PlannableBuild, ...]]:
        grouped: dict[str, list[PlannableBuild]] = defaultdict(list)
        for row in self.tables.builds:
            if not row.yanked:
                grouped[row.platform].append(_plannable(row))
        return {platform: tuple(builds) for platform, builds in grouped.items()}

    def architecture(
        self, kind: AcceleratorKind | None, architecture: str | None
    ) -> AcceleratorArchitecture | None:
        """Find an architecture of a kind."""
        row = self.tables.architectures.get(architecture or "")
        return row if row is not None and row.kind == kind else None

    def index(self, name: str, kind: AcceleratorKind | None = None) -> AcceleratorIndex | None:
        """Find an index by the name that builds have for it, and by their kind where several have one."""
        named = [row for row in self.tables.indexes if row.index == name]
        return next((row for row in named if row.accelerator == kind), named[0] if named else None)

    def index_at(self, url: str) -> str | None:
        """Return what builds call the index that a URL is on, by the longest address that it begins with."""
        known = {row.address.partition("{")[0]: row.index for row in self.tables.indexes}
        there = (address for address in known if f"{url.rstrip('/')}/".startswith(address))
        return known.get(max(there, key=len, default=""))

    def package_of(self, vendor: str) -> VendorPackage | None:
        """Tell which package brings torch to a vendor's devices, and where it is."""
        return next((row for row in self.tables.packages if row.vendor == vendor), None)

    @cached_property
    def known_bad(self) -> tuple[AcceleratorKnownBad, ...]:
        """The combinations that a plan keeps out of or tells."""
        return tuple(row for row in self.tables.known_bad if row.judge == "known-bad")

    @cached_property
    def windows(self) -> Mapping[Release, DriverWindow]:
        """What AMD's kernel drivers support, by the number that their module has."""
        windows = {row.driver: row for row in self.tables.driver_windows}
        return {
            parse_release(module): windows[driver]
            for module, drivers in self.tables.driver_modules.items()
            for driver in drivers
            if driver in windows
        }


def facts_of(load: Callable[[str], Sequence[Row]]) -> AcceleratorFacts:
    """Return the look-ups over tables that `load` returns the rows of."""
    return AcceleratorFacts(Accelerators(load))


def parse_release(text: str) -> Release:
    """Parse `14.0`; raise ValueError."""
    return tuple(map(int, text.split(".")))


def _plannable(row: AcceleratorBuild) -> PlannableBuild:
    needs = row.requires
    return PlannableBuild(
        torch=row.torch,
        variant=Variant(row.variant),
        index=row.index,
        platform=row.platform,  # type: ignore[arg-type] # as the schema says
        pythons=row.pythons,
        tags=row.tags,
        targets=row.targets,
        extra=row.extra,
        torch_npu=row.torch_npu,
        declared=SpecifierSet(needs.torch) if needs.torch else None,
        cann=needs.cann,
        mps=parse_release(needs.mps) if needs.mps else None,
        triton=row.triton,
        build=row.build,
        source=row.source,
        evidence=row.evidence,
    )
