"""What a machine is: the value that `detect` makes and that everything else is decided from."""

from __future__ import annotations

from msgspec import Struct
from packaging.version import Version

from gpuenv.model.accelerator import Accelerator, AcceleratorKind
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.variant import CudaVersion


class DriverVersion(Version):
    """An NVIDIA driver's version: compared as any version is, written as NVIDIA writes it (`450.80.02`)."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep `text` beside what it means; raise InvalidVersion for what is not a version."""
        super().__init__(text)
        self._text = text.strip()

    def __str__(self) -> str:
        return self._text


class System(Struct, frozen=True):
    """The operating system; under WSL2 `os` is linux and `wsl` is true."""

    os: str  # linux, windows, macos
    arch: str  # x86_64, aarch64
    libc: str | None = None  # glibc, musl; None where it does not apply or could not be read
    libc_version: str | None = None  # MAJOR.MINOR
    wsl: bool = False
    container: str | None = None  # docker, podman, lxc, ...
    macos: str | None = None  # the release of macOS, 14.5
    kernel: str | None = None  # Linux' release, 6.8.0-45-generic


class Driver(Struct, frozen=True):
    """The NVIDIA driver; `cuda` is the newest CUDA it supports, not an installed toolkit."""

    version: DriverVersion
    cuda: CudaVersion | None = None


class Gpu(Struct, frozen=True):
    """One GPU; what could not be read is None.

    `index` counts as nvidia-smi does, memory is in MiB, `mig` tells whether MIG mode is on, `visible` is
    false when CUDA_VISIBLE_DEVICES hides the device.
    """

    index: int
    name: str | None
    compute_capability: ComputeCapability | None
    memory_mib: int | None = None
    uuid: str | None = None
    pci_id: str | None = None  # four hexadecimal digits, as in pci.ids
    mig: bool | None = None
    visible: bool = True


class Toolkit(Struct, frozen=True):
    """An installed CUDA toolkit, as its nvcc tells; it matters only for building extensions."""

    cuda: CudaVersion | None
    nvcc: str


class FoundManager(Struct, frozen=True):
    """A conda tool or other package manager found on the machine."""

    name: str  # uv, conda, mamba, micromamba
    path: str
    version: str | None = None


class FoundPython(Struct, frozen=True):
    """A Python interpreter found on the machine; `version` is MAJOR.MINOR or MAJOR.MINOR.PATCH."""

    version: str
    path: str
    free_threaded: bool = False


class Problem(Struct, frozen=True):
    """Something wrong with the machine: a stable code, and a message that ends in the repair."""

    code: str
    message: str


# Problems beside which a machine without a usable GPU may still be called a machine without one: no other
# problem may lead to a CPU plan that was not asked for.
HARMLESS_PROBLEMS = frozenset(
    (
        "python-unreadable", "python-without-venv", "toolkit-unreadable", "conda-unreadable",
        "rosetta-python", "kfd-denied", "kfd-missing",
    )
)  # fmt: skip


class Machine(Struct, frozen=True):
    """One machine. `facts` pairs a field of the JSON form with where it was read.

    `amdgpu` is the version of AMD's kernel driver as /sys/module/amdgpu/version has it, `l4t` the release of
    Jetson Linux, `cann` that of Huawei's toolkit.
    """

    system: System
    driver: Driver | None = None
    gpus: tuple[Gpu, ...] = ()
    toolkit: Toolkit | None = None
    managers: tuple[FoundManager, ...] = ()
    pythons: tuple[FoundPython, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    amdgpu: str | None = None
    l4t: str | None = None
    cann: str | None = None

    @property
    def visible_gpus(self) -> tuple[Gpu, ...]:
        """The GPUs that CUDA_VISIBLE_DEVICES leaves to CUDA programs."""
        return tuple(gpu for gpu in self.gpus if gpu.visible)

    @property
    def without_gpu(self) -> bool:
        """Whether the machine is known to have no NVIDIA hardware: only this may lead to a CPU plan."""
        return not self.gpus and self.driver is None and not self.blocking_problems

    @property
    def kinds(self) -> tuple[AcceleratorKind, ...]:
        """The kinds that programs see: NVIDIA's first, then cards before parts of the processor."""
        nvidia: tuple[AcceleratorKind, ...] = ("cuda",) if self.visible_gpus else ()
        seen = sorted((item for item in self.accelerators if item.visible), key=_is_integrated)
        return tuple(dict.fromkeys((*nvidia, *(item.kind for item in seen if item.kind))))

    @property
    def kind(self) -> AcceleratorKind:
        """The kind that counts unless another is asked for; the CPU's where there is none."""
        return next(iter(self.kinds), "cpu")

    @property
    def blocking_problems(self) -> tuple[Problem, ...]:
        """The problems because of which a machine without a usable GPU is not called one without a GPU."""
        return tuple(problem for problem in self.problems if problem.code not in HARMLESS_PROBLEMS)

    def source_of(self, field: str) -> str:
        """Where `field` (a dotted path of the JSON form, such as `driver.version`) was read."""
        return dict(self.facts).get(field, "not stated")


def _is_integrated(accelerator: Accelerator) -> bool:
    return accelerator.discrete is False
