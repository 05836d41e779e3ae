"""What `--json` prints, as types: the envelope of every command, and the data of those that are read most.

A field that may be missing is UNSET by default; all others are always there, null where nothing is known.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from gpuenv.checks.diagnosis import CheckVerdict
from gpuenv.model.accelerator import Accelerator, AcceleratorKind
from gpuenv.model.errors import Because, Fix
from gpuenv.model.machine import FoundManager, FoundPython, Problem, System
from gpuenv.model.mirror import Mirror
from gpuenv.model.plan import Advice, OriginalRequest, PlanWarning, Rejection, Step
from gpuenv.model.wheel import Evidence


class Error(Struct, frozen=True):
    """Why a command failed; `code` is stable, texts are in the language of the output."""

    code: str
    message: str
    because: tuple[Because, ...]
    fixes: tuple[Fix, ...]


class Envelope(Struct, frozen=True):
    """What every command prints: one document, on standard output, also where it fails."""

    schema_version: Literal[1]
    command: str
    ok: bool
    data: Any
    warnings: tuple[PlanWarning, ...]
    error: Error | None


class Driver(Struct, frozen=True):
    """The NVIDIA driver; `cuda` is the newest CUDA it supports, not an installed toolkit."""

    version: str
    cuda: str | None


class Gpu(Struct, frozen=True):
    """One NVIDIA GPU, counted as nvidia-smi does."""

    index: int
    name: str | None
    compute_capability: str | None
    memory_mib: int | None
    uuid: str | None
    pci_id: str | None
    mig: bool | None
    visible: bool


class Toolkit(Struct, frozen=True):
    """An installed CUDA toolkit."""

    cuda: str | None
    nvcc: str


class Machine(Struct, frozen=True):
    """One machine; `facts` says where each field was read; `wheel_variants` with --preview variants."""

    system: System
    driver: Driver | None
    gpus: tuple[Gpu, ...]
    toolkit: Toolkit | None
    managers: tuple[FoundManager, ...]
    pythons: tuple[FoundPython, ...]
    facts: dict[str, str]
    problems: tuple[Problem, ...]
    accelerators: tuple[Accelerator, ...]
    amdgpu: str | None
    l4t: str | None
    cann: str | None
    wheel_variants: dict[str, Any] | UnsetType = UNSET


class Package(Struct, frozen=True):
    """One file of a plan; a conda package has `channel`, `build` and `subdir` in place of `filename`."""

    name: str
    version: str
    variant: str | None
    index: str | None
    url: str | None
    sha256: str | None
    size: int | None
    evidence: Evidence
    filename: str | UnsetType | None = UNSET
    channel: str | UnsetType | None = UNSET
    build: str | UnsetType | None = UNSET
    subdir: str | UnsetType | None = UNSET
    extras: tuple[str, ...] | UnsetType = UNSET


class Sources(Struct, frozen=True):
    """Where an installer finds files, without passwords."""

    index_url: str | None
    extra_index_urls: tuple[str, ...]
    find_links: tuple[str, ...]
    no_index: bool


class Download(Struct, frozen=True):
    """How much is fetched, in bytes; where not `exact`, some sizes are those of the matrices."""

    files: int
    bytes: int | None
    installed_bytes: int | None
    free_bytes: int | None
    local_files: int
    cached_files: int
    exact: bool


class Conda(Struct, frozen=True):
    """What a conda tool is asked for."""

    channels: tuple[str, ...]
    specs: tuple[str, ...]
    cuda: str | None


class _Decided(Struct, frozen=True, kw_only=True):
    """What would be installed, by which commands, and why."""

    python: str
    accelerator: AcceleratorKind
    variant: str
    manager: str
    packages: tuple[Package, ...]
    pins: tuple[str, ...]
    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    asked: OriginalRequest | None
    sources: Sources
    steps: tuple[Step, ...]
    why: tuple[Because, ...]
    rejected: tuple[Rejection, ...]
    advice: tuple[Advice, ...]
    download: Download | None
    conda: Conda | UnsetType = UNSET


class Plan(_Decided, frozen=True, kw_only=True):
    """What would be installed, by which commands, and why; `adapted` with --adapt."""

    machines: tuple[Machine, ...]
    adapted: dict[str, Any] | UnsetType = UNSET


class Variant(Struct, frozen=True):
    """One variant of a project, and its plan."""

    name: str
    plan: Plan


class Variants(Struct, frozen=True):
    """With --for: a plan for each variant, all of one release of torch."""

    torch: str
    variants: tuple[Variant, ...]


class Group(_Decided, frozen=True, kw_only=True):
    """The plan of a group of machines, which are named."""

    group: int
    platform: str
    machines: tuple[str, ...]


class CountedGpu(Struct, frozen=True):
    """GPUs of one kind in a machine."""

    name: str | None
    compute_capability: str | None
    count: int


class CountedAccelerator(Struct, frozen=True):
    """Devices of one kind in a machine that are not NVIDIA GPUs."""

    kind: AcceleratorKind | None
    name: str | None
    architecture: str | None
    count: int


class GroupedMachine(Struct, frozen=True):
    """A machine, and its group; null with the `problem` where nothing works on it."""

    name: str
    file: str
    gpus: tuple[CountedGpu, ...]
    accelerators: tuple[CountedAccelerator, ...]
    driver: str | None
    group: int | None
    problem: str | None


class Groups(Struct, frozen=True):
    """With --machines: the fewest groups of machines; `together` says what would make it one."""

    groups: tuple[Group, ...]
    machines: tuple[GroupedMachine, ...]
    together: tuple[Advice, ...]


class DeviceTest(Struct, frozen=True):
    """One test on one device, in milliseconds."""

    id: str
    ok: bool
    ms: float | None
    detail: str


class Device(Struct, frozen=True):
    """One device as torch counts them; `index` is null for the CPU."""

    index: int | None
    name: str | None
    kind: str | None
    architecture: str | None
    compute_capability: str | None
    ok: bool
    tests: tuple[DeviceTest, ...]


class Verification(Struct, frozen=True):
    """What torch did on each device, and what it printed."""

    environment: str
    python: str | None
    torch: str | None
    cuda: str | None
    cudnn: str | None
    accelerator: str | None
    hip: str | None
    architectures: tuple[str, ...]
    devices: tuple[Device, ...]
    messages: tuple[str, ...]


class Place(Struct, frozen=True):
    """Where an environment is, and its Python."""

    name: str
    path: str
    python: str


class Created(Plan, frozen=True, kw_only=True):
    """The plan that was carried out; a dry run has neither `environment` nor `verify`."""

    environment: Place | UnsetType = UNSET
    verify: Verification | UnsetType | None = UNSET
    export: str | UnsetType = UNSET


class Diagnosis(Struct, frozen=True):
    """The root cause, null where nothing is wrong, and all checks; `repair` with --fix."""

    environment: str
    root: CheckVerdict | None
    checks: tuple[CheckVerdict, ...]
    repair: dict[str, Any] | UnsetType = UNSET


class Line(Struct, frozen=True):
    """A line of the text."""

    number: int
    text: str


class Match(Struct, frozen=True, rename={"class_": "class"}):
    """A known error in the text, the likeliest first; `checks` are doctor's, `source` says who knows it."""

    id: str
    class_: Literal["environment", "hardware", "code", "data", "deprecation"]
    pack: str
    broader: bool
    cause: str
    detail: str | None
    fix: str
    command: str | None
    facts: dict[str, str]
    confidence: Literal["high", "medium", "low"]
    lines: tuple[Line, ...]
    checks: tuple[str, ...]
    source: str


class NoError(Struct, frozen=True):
    """A line that looks like an error and is none, and why."""

    number: int
    text: str
    reason: str


class Explanation(Struct, frozen=True):
    """The errors that are known in the text; none is no failure."""

    matches: tuple[Match, ...]
    no_errors: tuple[NoError, ...] | UnsetType = UNSET


class Environment(Struct, frozen=True):
    """One environment; bytes, times in UTC. Of one that gpuenv did not make the first seven are told."""

    name: str
    path: str
    manager: str | None
    torch: str | None
    variant: str | None
    python: str | None
    verified: bool | None
    size: int | UnsetType | None = UNSET
    created: str | UnsetType | None = UNSET
    last_used: str | UnsetType | None = UNSET
    verified_at: str | UnsetType | None = UNSET
    verified_driver: str | UnsetType | None = UNSET
    verified_gpus: tuple[str, ...] | UnsetType = UNSET
    outdated: str | UnsetType | None = UNSET


class Environments(Struct, frozen=True):
    """The environments by name."""

    environments: tuple[Environment, ...]


class KnownMirror(Mirror, frozen=True, kw_only=True):
    """A mirror as gpuenv knows it; `own` where it stands in the user's configuration."""

    own: bool


class KnownMirrors(Struct, frozen=True):
    """The mirrors, those that were shut down last."""

    mirrors: tuple[KnownMirror, ...]


class CheckedMirror(Struct, frozen=True):
    """What a mirror has; null where nobody asked or nothing was answered."""

    name: str
    kind: str
    answers: bool | None
    has: bool | None
    newest_torch: str | None
    leaks: tuple[str, ...] | None
    stale: bool | None
    bytes_per_s: int | None
    rank: int | None
    problem: str | None
    file: str | None
    measured: str | None
    remembered: bool


class CheckedMirrors(Struct, frozen=True):
    """What was looked for, and the mirrors by rank."""

    files: tuple[str, ...]
    mirrors: tuple[CheckedMirror, ...]


# Where there are several, an option says which.
OUTPUTS: dict[str, tuple[type[Struct], ...]] = {
    "detect": (Machine,),
    "plan": (Plan, Variants, Groups),
    "create": (Created,),
    "verify": (Verification,),
    "doctor": (Diagnosis,),
    "explain": (Explanation,),
    "list": (Environments,),
    "mirrors list": (KnownMirrors,),
    "mirrors check": (CheckedMirrors,),
}
