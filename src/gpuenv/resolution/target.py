"""What a plan must work on: the machines that count, and their GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.errors import Because, Fix, Unsatisfiable, UsageError
from gpuenv.model.machine import Driver, DriverVersion, Gpu, Machine
from gpuenv.model.wheel import Platform
from gpuenv.resolution.target_device import TargetDevice, UnusedDevice

if TYPE_CHECKING:
    from gpuenv.knowledge.accelerators import JetsonRelease

PLATFORMS_BY_SYSTEM: dict[tuple[str, str], Platform] = {
    ("linux", "x86_64"): "linux-64",
    ("linux", "aarch64"): "linux-aarch64",
    ("windows", "x86_64"): "win-64",
    ("macos", "aarch64"): "osx-arm64",
    ("macos", "arm64"): "osx-arm64",
    ("macos", "x86_64"): "osx-64",
}

# Beside GPUs that can be used, these do not stand in the way of a plan.
_TOLERATED = frozenset(
    {"mig", "vgpu", "devices-hidden", "capability-unknown", "capability-ambiguous", "gpu-lost", "gpu-error"}
)


_ABOUT_ONE_GPU = ("gpu-error", "gpu-lost")


class TargetGpu(Struct, frozen=True):
    """A GPU that the plan must work on; `capability` is known."""

    gpu: Gpu
    capability: ComputeCapability
    machine: Machine

    @property
    def label(self) -> str:
        """The GPU in words: its name and compute capability."""
        return f"{self.gpu.name} ({self.capability})" if self.gpu.name else str(self.capability)

    @property
    def source(self) -> str:
        """Where its compute capability was read."""
        return self.machine.source_of(f"gpus.{self.gpu.index}.compute_capability")


class Target(Struct, frozen=True):
    """The machines of one plan and what counts of them; without GPUs and devices the plan is for the CPU.

    `kind` is that of the accelerators; `gpus` are NVIDIA's, `devices` all others. `unused` are devices that
    there is no build for, `beside` those that a build is not chosen for, such as a part of the processor.
    `board` is what is known of a Jetson that runs only what was built for it.
    """

    machines: tuple[Machine, ...]
    gpus: tuple[TargetGpu, ...]
    platform: Platform
    kind: AcceleratorKind = "cuda"
    devices: tuple[TargetDevice, ...] = ()
    unused: tuple[UnusedDevice, ...] = ()
    beside: tuple[TargetDevice, ...] = ()
    board: JetsonRelease | None = None

    @property
    def is_accelerated(self) -> bool:
        """Whether its builds stand in accelerator-builds.json: all but CUDA's, and the CPU's off macOS."""
        special = self.board is not None or self.platform in ("osx-arm64", "osx-64")
        return special or self.kind not in ("cuda", "cpu")

    @property
    def machine_label(self) -> str:
        """What to call the machine that a fact is about."""
        return tr("this machine") if len(self.machines) == 1 else tr("one of the machines")

    def only(self, gpus: tuple[TargetGpu, ...]) -> Target:
        """Return the target with some of its GPUs."""
        return replace(self, gpus=gpus)

    def with_driver_assumed(self) -> Target:
        """Return the target as if every machine had a driver new enough."""
        return self._changed(lambda machine: replace(machine, driver=None))

    def with_driver(self, version: DriverVersion, knowledge: Knowledge) -> Target:
        """Return the target as if every driver older than `version` were that one."""

        def updated(machine: Machine) -> Machine:
            if machine.driver is None or machine.driver.version >= version:
                return machine
            cuda = knowledge.driver_cuda(version, driver_os(machine))
            return replace(machine, driver=Driver(version, cuda))

        return self._changed(updated)

    def with_glibc_assumed(self) -> Target:
        """Return the target as if every machine had a glibc new enough."""
        return self._changed(_with_any_glibc)

    def without_sources(self) -> Target:
        """Return the target as if nobody knew where its facts were read: alike machines are then equal."""
        return self._changed(lambda machine: replace(machine, facts=()))

    def _changed(self, change: Callable[[Machine], Machine]) -> Target:
        machines = {id(machine): change(machine) for machine in self.machines}
        gpus = tuple(replace(gpu, machine=machines[id(gpu.machine)]) for gpu in self.gpus)
        devices = tuple(replace(item, machine=machines[id(item.machine)]) for item in self.devices)
        return replace(self, machines=tuple(machines.values()), gpus=gpus, devices=devices)


def _with_any_glibc(machine: Machine) -> Machine:
    if machine.system.os != "linux":
        return machine
    return replace(machine, system=replace(machine.system, libc="glibc", libc_version=None))


def driver_os(machine: Machine) -> DriverOs:
    """Whose driver floors count: under WSL2 the driver is Windows'."""
    return "windows" if machine.system.wsl or machine.system.os == "windows" else "linux"


def choose_target(machines: tuple[Machine, ...], devices: tuple[int, ...], *, cpu: bool) -> Target:
    """Return what the plan must work on.

    `cpu` is true where the user asked for a CPU build. Raises Unsatisfiable where NVIDIA hardware can't be
    used as it is, UsageError for devices that do not exist or machines of different platforms.
    """
    platform = common_platform(machines)
    if cpu:
        return Target(machines, (), platform)
    gpus = tuple(gpu for machine in machines for gpu in _usable_gpus(machine, devices))
    return Target(machines, gpus, platform)


def common_platform(machines: tuple[Machine, ...]) -> Platform:
    """Return the platform of all machines; raise UsageError where they have several."""
    platforms = {platform_of(machine) for machine in machines}
    if len(platforms) > 1:
        raise UsageError(
            tr("the machines have different platforms: {names}", names=series(sorted(platforms))),
            code="mixed-platforms",
            fixes=(Fix(tr("plan for each platform separately")),),
        )
    return platforms.pop()


def platform_of(machine: Machine) -> Platform:
    """Return the machine's platform; raise Unsatisfiable where torch has no CUDA builds for it."""
    system = machine.system
    name = PLATFORMS_BY_SYSTEM.get((system.os, system.arch))
    if name is None:
        raise Unsatisfiable(
            tr("there are no CUDA builds of torch for {os} on {arch}", os=system.os, arch=system.arch),
            code="platform-unsupported",
            because=(
                Because(
                    tr("this machine is {os} on {arch}", os=system.os, arch=system.arch),
                    machine.source_of("system.arch"),
                ),
            ),
            fixes=(Fix(tr("plan for another machine with --machine FILE or --platform")),),
        )
    return name


def _usable_gpus(machine: Machine, devices: tuple[int, ...]) -> tuple[TargetGpu, ...]:
    if machine.without_gpu:
        if devices:
            raise _no_such_device(devices, machine)
        return ()
    _refuse_broken(machine)
    chosen = _chosen_gpus(machine, devices)
    unknown = [gpu for gpu in chosen if gpu.compute_capability is None]
    if unknown:
        raise _capability_unknown(machine, unknown[0], chosen)
    return tuple(
        TargetGpu(gpu, gpu.compute_capability, machine)
        for gpu in chosen
        if gpu.compute_capability is not None
    )


def _chosen_gpus(machine: Machine, devices: tuple[int, ...]) -> tuple[Gpu, ...]:
    if not devices:
        return machine.visible_gpus or machine.gpus
    there = {gpu.index: gpu for gpu in machine.gpus}
    missing = tuple(index for index in devices if index not in there)
    if missing:
        raise _no_such_device(missing, machine)
    return tuple(there[index] for index in dict.fromkeys(devices))


def _no_such_device(missing: tuple[int, ...], machine: Machine) -> UsageError:
    return UsageError(
        tr("there is no device {indices} on this machine", indices=series(map(str, missing))),
        code="no-such-device",
        because=(
            Because(
                tr(
                    "it has {devices}",
                    devices=series(f"{gpu.index}: {gpu.name}" for gpu in machine.gpus) or tr("no GPU"),
                ),
                machine.source_of("gpus"),
            ),
        ),
        fixes=(Fix(tr("give --device a number that nvidia-smi shows"), "gpuenv detect"),),
    )


def _refuse_broken(machine: Machine) -> None:
    problems = machine.blocking_problems
    if machine.gpus:
        problems = tuple(problem for problem in problems if problem.code not in _TOLERATED)
    if not problems and machine.gpus:
        return
    problem = problems[0].message if problems else tr("a driver is loaded, but it reports no GPU")
    raise Unsatisfiable(
        tr("this machine's NVIDIA driver or GPU is not usable: {problem}", problem=problem),
        code=problems[0].code if problems else "no-devices",
        because=tuple(Because(item.message, machine.source_of("problems")) for item in problems),
        fixes=(
            Fix(tr("repair it as described above, then check again"), "gpuenv detect"),
            Fix(tr("or request a CPU build explicitly with --cuda cpu")),
        ),
    )


def _capability_unknown(machine: Machine, gpu: Gpu, chosen: tuple[Gpu, ...]) -> Unsatisfiable:
    broken = tuple(problem for problem in machine.problems if problem.code in _ABOUT_ONE_GPU)
    if gpu.name is None and broken:
        return Unsatisfiable(
            tr("GPU {index} could not be identified", index=gpu.index),
            code=broken[0].code,
            because=tuple(Because(problem.message, machine.source_of("problems")) for problem in broken),
            fixes=_without(chosen),
        )
    return Unsatisfiable(
        tr("the compute capability of GPU {index} ({name}) is not known", index=gpu.index, name=gpu.name),
        code="capability-unknown",
        because=(
            Because(
                tr("neither the driver nor the matrix of GPUs has it"),
                machine.source_of(f"gpus.{gpu.index}.compute_capability"),
            ),
        ),
        fixes=(
            Fix(
                tr(
                    "specify it: --gpu 8.6 --driver {driver} (8.6 is an example)",
                    driver=_driver(machine),
                )
            ),
            *_without(chosen),
        ),
    )


def _without(chosen: tuple[Gpu, ...]) -> tuple[Fix, ...]:
    """Offer the GPUs whose compute capability is known, where there are any."""
    known = (gpu for gpu in chosen if gpu.compute_capability is not None)
    devices = " ".join(f"--device {gpu.index}" for gpu in known)
    return (Fix(tr("exclude it with {devices}", devices=devices)),) if devices else ()


def _driver(machine: Machine) -> str:
    return str(machine.driver.version) if machine.driver else "535.104.05"
