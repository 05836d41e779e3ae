"""Rule `driver`: the driver is at least the floor of the build's CUDA version.

From CUDA 11 on the floor of the major family is enough (minor-version compatibility); older CUDA needs the
release's own floor. https://docs.nvidia.com/deploy/cuda-compatibility/

The floors are numbers of the drivers for x86. On Arm, drivers of one branch are numbered otherwise (a Thor
has 580.00): there the CUDA that the driver supports counts, as nvidia-smi states it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gpuenv.i18n.messages import current_language, series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverFloor, DriverOs
from gpuenv.model.machine import DriverVersion, Machine
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.target import Target, driver_os


def least_driver(cuda: CudaVersion, system: DriverOs, knowledge: Knowledge) -> DriverFloor | None:
    """Return the least driver that runs builds of `cuda` on `system` or None if unknown."""
    floors = [
        floor
        for floor in (knowledge.family_floor(cuda.major, system), knowledge.release_floor(cuda, system))
        if floor is not None
    ]
    return min(floors, key=lambda floor: floor.version) if floors else None


def is_native(cuda: CudaVersion, machine: Machine, knowledge: Knowledge) -> bool:
    """Whether the driver itself supports `cuda`, without leaning on minor-version compatibility."""
    if machine.driver is None:
        return True
    supported = machine.driver.cuda or knowledge.driver_cuda(machine.driver.version, driver_os(machine))
    return supported is not None and supported >= cuda


def runs(cuda: CudaVersion, machine: Machine, knowledge: Knowledge) -> bool:
    """Whether the machine's driver runs builds for `cuda`; not where no floor of that CUDA is known."""
    floor = least_driver(cuda, driver_os(machine), knowledge)
    if floor is None or machine.driver is None:
        return floor is not None
    return machine.driver.version >= floor.version or _states(cuda, machine, floor, knowledge)


def _states(cuda: CudaVersion, machine: Machine, floor: DriverFloor, knowledge: Knowledge) -> bool:
    """Whether a driver of the floor's own branch, numbered otherwise, supports `cuda` by what it states.

    An older branch never passes: what states a newer CUDA there is a forward-compatibility package.
    """
    driver = machine.driver
    if driver is None or machine.system.arch != "aarch64" or driver.version.major != floor.version.major:
        return False
    supported = driver.cuda or knowledge.driver_cuda(driver.version, driver_os(machine))
    if supported is None:
        return False
    within = knowledge.family_floor(cuda.major, driver_os(machine)) is not None
    return supported.major >= cuda.major if within else supported >= cuda


class DriverFailure(Failure, frozen=True, kw_only=True):
    """A driver (`subject`) that is too old for a CUDA release, or ("unknown") a release of unknown floor."""

    rule: str = "driver"
    cuda: CudaVersion
    floor: DriverVersion | None = None
    place: str = ""

    def summarize(self, alike: tuple[DriverFailure, ...]) -> str:
        """Say which CUDA versions need which driver, and which driver the machine has."""
        if self.floor is None:
            return self.detail
        needs = _needs(alike)
        if len(needs) > _MOST_NEEDS:  # the least says what an older driver misses; the rest only rises
            needs = [needs[0], tr("newer CUDA releases need even newer drivers")]
        return tr(
            "builds for {needs}; {place} has {driver}",
            needs=tr(", those for ").join(needs),
            place=self.place,
            driver=self.subject,
        )


def check(candidate: Candidate, target: Target, knowledge: Knowledge) -> tuple[DriverFailure, ...]:
    """Return a failure for each machine with GPUs whose driver is below the build's floor."""
    return _failures_on(target)(candidate.cuda, knowledge, current_language()) if candidate.cuda else ()


def _by_cuda(target: Target) -> Callable[[CudaVersion, Knowledge, str], tuple[DriverFailure, ...]]:
    """Of a build its CUDA version alone counts, and few differ in it."""
    machines = tuple(dict.fromkeys(gpu.machine for gpu in target.gpus))

    def failures(cuda: CudaVersion, knowledge: Knowledge, _language: str) -> tuple[DriverFailure, ...]:
        checked = (_check_machine(cuda, machine, target, knowledge) for machine in machines)
        return tuple(failure for failure in checked if failure)

    return cache(failures)


_failures_on: ByIdentity[Target, Callable[[CudaVersion, Knowledge, str], tuple[DriverFailure, ...]]]
_failures_on = ByIdentity(_by_cuda)


def _check_machine(
    cuda: CudaVersion, machine: Machine, target: Target, knowledge: Knowledge
) -> DriverFailure | None:
    floor = least_driver(cuda, driver_os(machine), knowledge)
    if floor is None:
        detail = tr("the minimum driver for CUDA {cuda} is not known", cuda=cuda)
        return DriverFailure(
            kind="unknown", subject=str(cuda), detail=detail, source="matrix cuda.json", cuda=cuda
        )
    if machine.driver is None or runs(cuda, machine, knowledge):
        return None
    return DriverFailure(
        kind="old",
        subject=str(machine.driver.version),
        detail=tr(
            "CUDA {cuda} needs driver {floor} or newer, {place} has {driver}",
            cuda=cuda,
            floor=floor.version,
            place=target.machine_label,
            driver=machine.driver.version,
        ),
        source=f"{floor.source}; {machine.source_of('driver.version')}",
        cuda=cuda,
        floor=floor.version,
        place=target.machine_label,
    )


_MOST_NEEDS = 3


def _needs(failures: tuple[DriverFailure, ...]) -> list[str]:
    floors: dict[DriverVersion, set[CudaVersion]] = {}
    for failure in failures:
        if failure.floor is not None:
            floors.setdefault(failure.floor, set()).add(failure.cuda)
    return [
        tr("CUDA {cuda} need driver {floor} or newer", cuda=_join(sorted(cudas)), floor=floor)
        for floor, cudas in sorted(floors.items())
    ]


def _join(versions: list[CudaVersion]) -> str:
    first, last = series(map(str, versions[:-1])), str(versions[-1])
    return tr("{first} and {last}", first=first, last=last) if first else last
