"""Accelerators that are not NVIDIA's, of all vendors; only what is on the bus is looked into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from msgspec import Struct

from gpuenv import matrices
from gpuenv.host.accelerators.amd import KFD, read_amd
from gpuenv.host.accelerators.apple import read_apple, read_sysctl
from gpuenv.host.accelerators.ascend import has_ascend, read_ascend
from gpuenv.host.accelerators.by_programs import read_by_programs
from gpuenv.host.accelerators.intel import read_intel
from gpuenv.host.accelerators.reading import Facts, VendorReading, facts_of
from gpuenv.host.accelerators.recognised import VENDORS, read_recognised
from gpuenv.host.accelerators.windows import read_windows
from gpuenv.host.executables import FileTree, RunProgram, is_there
from gpuenv.host.pci import AMD, HUAWEI, INTEL, BusDevice
from gpuenv.knowledge.accelerators import Accelerators
from gpuenv.model.accelerator import Accelerator
from gpuenv.model.machine import Problem, System


class Surroundings(Struct, frozen=True):
    """What the readers look into; `devices` are those on the PCI bus."""

    system: System
    devices: tuple[BusDevice, ...]
    root: FileTree
    environ: Mapping[str, str]
    run: RunProgram

    @property
    def vendors(self) -> frozenset[str]:
        """Whose devices are on the bus."""
        return frozenset(device.vendor for device in self.devices)


class AllReadings(Struct, frozen=True):
    """What all readers found; `facts` pairs a field of the machine's JSON form with its source."""

    accelerators: tuple[Accelerator, ...]
    facts: Facts
    problems: tuple[Problem, ...]
    amdgpu: str | None
    cann: str | None


@cache
def _known() -> Accelerators:
    return Accelerators(matrices.load)


# a line a vendor: where it may be, and its reader
_READERS: tuple[tuple[Callable[[Surroundings], bool], Callable[[Surroundings], VendorReading]], ...] = (
    (
        lambda at: AMD in at.vendors or is_there(at.root / KFD),
        lambda at: read_amd(at.devices, at.root, at.environ, _known()),
    ),
    (lambda at: INTEL in at.vendors, lambda at: read_intel(at.devices, at.environ, _known())),
    (
        lambda at: HUAWEI in at.vendors or has_ascend(at.root),
        lambda at: read_ascend(at.devices, at.root, at.environ, _known(), at.run),
    ),
    (lambda at: bool(at.vendors & VENDORS.keys()), lambda at: read_recognised(at.devices, _known())),
    (lambda at: at.system.os == "windows", lambda at: read_windows(_known(), at.run)),
    (lambda at: at.system.os == "macos", lambda at: read_apple(read_sysctl(at.run))),
)


def read_accelerators(surroundings: Surroundings) -> AllReadings:
    """Return the accelerators of all vendors in the order above."""
    found = [read(surroundings) for may_be, read in _READERS if may_be(surroundings)]
    if surroundings.system.os == "linux" and not any(part.devices for part in found):
        found.append(read_by_programs(surroundings.run, surroundings.environ, _known()))
    devices = tuple(device for part in found for device in part.devices)
    return AllReadings(
        accelerators=tuple(device.accelerator for device in devices),
        facts=(*facts_of(devices), *(fact for part in found for fact in part.facts)),
        problems=tuple(problem for part in found for problem in part.problems),
        amdgpu=next((part.amdgpu for part in found if part.amdgpu), None),
        cann=next((part.cann for part in found if part.cann), None),
    )
