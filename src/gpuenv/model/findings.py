"""All that doctor read of one environment and its machine: plain values, to be saved and judged again.

What could not be read is None or empty. Sizes are in bytes, paths as they were found.
"""

from __future__ import annotations

from msgspec import Struct

from gpuenv.model.machine import Machine


class Interpreter(Struct, frozen=True):
    """An environment's Python, as it tells of itself; with a `problem` it could not be asked.

    `host` is that of the interpreter (x86_64 under Rosetta), `packages` where installers put packages,
    `locked` the EXTERNALLY-MANAGED file beside its standard library.
    """

    path: str
    version: str | None = None
    prefix: str | None = None
    base_prefix: str | None = None
    machine: str | None = None
    bits: int | None = None
    free_threaded: bool = False
    packages: tuple[str, ...] = ()
    user_site: str | None = None
    uses_user_site: bool = False
    locked: str | None = None
    writable: bool = True
    problem: str | None = None


class Dist(Struct, frozen=True):
    """One installed distribution, by its metadata; `place` is the directory that it lies in.

    `requires` are Requires-Dist lines (of torch and what builds on it only), `tags` those of its WHEEL file.
    `missing` and `changed` count files that differ from its RECORD, `example` is one of them.
    """

    name: str
    version: str | None
    place: str
    installer: str | None = None
    requires: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    missing: int = 0
    changed: int = 0
    example: str | None = None
    problem: str | None = None


class SharedFile(Struct, frozen=True):
    """A file that several distributions say is theirs."""

    path: str
    owners: tuple[str, ...]


class TorchFiles(Struct, frozen=True):
    """A torch, by its files: `variant` is `cu126`, `cpu`, `rocm6.3`, `xpu`; `architectures` are `sm_90`, ...

    `needs` are the libraries that it is linked with and that come with CUDA, `lacking` those of them that lie
    nowhere the loader looks; with `finds_own` it looks for them where torch says before anywhere else.
    """

    place: str
    version: str | None = None
    variant: str | None = None
    architectures: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    finds_own: bool = False
    problem: str | None = None


class CondaPackage(Struct, frozen=True):
    """A package of a conda environment, by the name of its record."""

    name: str
    version: str
    build: str


class ForeignLibrary(Struct, frozen=True):
    """A library that a search path offers before the bundled one of the same name.

    `via` is the variable or file that leads there; the versions are None where no file's name tells them.
    """

    name: str
    path: str
    via: str
    version: str | None = None
    bundled: str | None = None


class Node(Struct, frozen=True):
    """A device file; `usable` is whether this user may read and write it."""

    path: str
    usable: bool


class PciDevice(Struct, frozen=True):
    """A display device or NVSwitch on the bus: ids as four hexadecimal digits, `kind` is the PCI class.

    `iommu` is how the kernel translates its addresses (`DMA-FQ`; `identity`: not at all), None without.
    """

    vendor: str
    device: str
    kind: str
    driver: str | None = None
    iommu: str | None = None


class GpuState(Struct, frozen=True):
    """What nvidia-smi says of a GPU's state; None where it does not tell. Memory is in MiB."""

    index: int
    compute_mode: str | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    ecc_errors: int | None = None
    too_hot: bool | None = None


class KernelFindings(Struct, frozen=True):
    """The kernel, its modules, and the driver's libraries.

    `modules` are the loaded ones of graphics drivers, `nvidia` is the text of /proc/driver/nvidia/version,
    `built` whether the running kernel has an nvidia module on disk and `built_for` which others have,
    `blacklists` the files that keep it from being loaded, `libraries` the driver's libcuda files.
    """

    release: str | None = None
    modules: tuple[str, ...] = ()
    nvidia: str | None = None
    built: bool | None = None
    built_for: tuple[str, ...] = ()
    blacklists: tuple[str, ...] = ()
    secure_boot: bool | None = None
    libraries: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    suspended: int = 0
    fabric_manager: bool | None = None


class MachineLimits(Struct, frozen=True):
    """Room and limits: bytes free, bytes of shared memory, open files, what the CPU can do."""

    shared_memory: int | None = None
    open_files: int | None = None
    disk_free: int | None = None
    temporary_free: int | None = None
    cpu_flags: tuple[str, ...] = ()


class WindowsFacts(Struct, frozen=True):
    """What only Windows has: the VC++ runtime's version, whether long paths are on, foreign CUDA on PATH."""

    runtime: str | None = None
    long_paths: bool | None = None
    media_pack: bool | None = None


class ConfiguredIndex(Struct, frozen=True):
    """An index or wheelhouse that pip's or uv's configuration names; `origin` is the variable or file.

    `fault` is what is known to be wrong with it: `retired` (shut down), `wrong` (`instead` is the right
    address) or `bogus` (has no torch, and never had); `mirror` is the mirror that it is on.
    """

    url: str
    origin: str
    mirror: str | None = None
    fault: str | None = None
    instead: str | None = None


class Proof(Struct, frozen=True):
    """What verify's child proved: `gpus` is how many it put to work, `errors` tell what went wrong.

    `signature` names what is known of the error, where it is known; `cause` and `fix` are its texts.
    """

    ok: bool
    gpus: int
    codes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    signature: str | None = None
    cause: str | None = None
    fix: str | None = None


class Findings(Struct, frozen=True):
    """Everything doctor judges. `named` tells whether the user named the environment.

    `foreign_torch` are torches on the import path that do not belong to the environment: (path, why).
    `here` are files of the current directory that would be imported in place of packages, `unread` are
    directories of the environment that this user may not read, `cpu_requested` and `planned_without_gpu` tell
    of an environment of gpuenv's that it was made with `--cuda cpu`, or where no GPU was; `distribution` is
    the name of the system and of those that it is like, as /etc/os-release has them (`ubuntu`, `debian`).
    """

    environment: str
    machine: Machine
    python: Interpreter
    named: bool = True
    torch: TorchFiles | None = None
    dists: tuple[Dist, ...] = ()
    shared_files: tuple[SharedFile, ...] = ()
    leftovers: tuple[str, ...] = ()
    conda: tuple[CondaPackage, ...] = ()
    foreign_torch: tuple[tuple[str, str], ...] = ()
    foreign_libraries: tuple[ForeignLibrary, ...] = ()
    driver_libraries: tuple[tuple[str, str], ...] = ()
    here: tuple[str, ...] = ()
    first_python: str | None = None
    programs: tuple[str, ...] = ()  # of schedulers, on PATH
    variables: tuple[tuple[str, str], ...] = ()
    nodes: tuple[Node, ...] = ()
    pci: tuple[PciDevice, ...] = ()
    states: tuple[GpuState, ...] = ()
    kernel: KernelFindings = KernelFindings()
    limits: MachineLimits = MachineLimits()
    windows: WindowsFacts | None = None
    indexes: tuple[ConfiguredIndex, ...] = ()
    lost_certificates: tuple[tuple[str, str], ...] = ()  # variable and the file that it names, not there
    proof: Proof | None = None
    unread: tuple[str, ...] = ()
    distribution: tuple[str, ...] = ()
    cpu_requested: bool = False
    planned_without_gpu: bool = False
