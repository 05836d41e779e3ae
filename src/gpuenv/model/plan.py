"""A plan: what will be installed, from where, by which steps, and why."""

from __future__ import annotations

import os

from msgspec import Struct

from gpuenv.model.access import ANYBODY, Access
from gpuenv.model.conda import CondaPlan
from gpuenv.model.errors import Because
from gpuenv.model.machine import Machine
from gpuenv.model.wheel import Evidence

RULES = (
    "driver", "kernels", "library", "python", "platform", "companion", "known-bad", "reach", "request",
)  # fmt: skip


class PlannedPackage(Struct, frozen=True):
    """One file that will be installed; `version` has its local part, `size` is in bytes.

    A conda package has `channel`, `build` and `subdir`, and `filename` only where a channel was read.
    `extras` are those that the installer is given for it, such as `device-gfx1201`.
    """

    name: str
    version: str
    variant: str | None
    index: str | None
    filename: str | None
    url: str | None
    sha256: str | None
    size: int | None
    evidence: Evidence
    channel: str | None = None
    build: str | None = None  # a pattern where no channel was read
    subdir: str | None = None
    extras: tuple[str, ...] = ()  # by which it brings its code for a device: device-gfx1201


class FilePlace(Struct, frozen=True):
    """One place where a file can be had, and what the page that lists it there tells of it.

    `index` is the source that was read, `page` what pip and uv take as `--find-links`. Passwords in the
    addresses are not hidden: they are to be read.
    """

    index: str
    page: str
    url: str
    sha256: str | None = None
    size: int | None = None


class StackFile(Struct, frozen=True):
    """A file of the torch stack and all places that list it, the planned one first."""

    name: str
    filename: str
    places: tuple[FilePlace, ...]


class CheckedFile(Struct, frozen=True):
    """A wheel on this disk whose digest was compared with what is known, or made from it."""

    name: str
    version: str
    path: str
    sha256: str


class CheckedStack(Struct, frozen=True):
    """Files of the torch stack on this disk, and `listed`: a requirements file that has their hashes."""

    files: tuple[CheckedFile, ...]
    listed: str

    @property
    def folders(self) -> tuple[str, ...]:
        """Where they lie."""
        return tuple(dict.fromkeys(os.path.dirname(file.path) for file in self.files))  # noqa: PTH120 - no IO

    @property
    def names(self) -> frozenset[str]:
        """Which projects they are of."""
        return frozenset(file.name for file in self.files)


class HeldFiles(Struct, frozen=True):
    """What the installer is bound to: `listed`, a requirements file with a hash of each; None without hashes.

    `complete`: nothing else is to be installed. `bounds`: a constraints file, the versions of all of it.
    `packages`: what was resolved for uv beside the torch stack, which becomes `listed` once that was fetched.
    """

    listed: str | None
    complete: bool
    bounds: str | None = None
    packages: tuple[PlannedPackage, ...] = ()


class Step(Struct, frozen=True):
    """A command to run, as a list (never through a shell), and why."""

    argv: tuple[str, ...]
    why: str


class Rejection(Struct, frozen=True):
    """A build that does not fit: the rule it fails (one of RULES), the facts that collide, their source."""

    name: str
    version: str
    variant: str | None
    rule: str
    detail: str
    source: str


class Advice(Struct, frozen=True):
    """What would change the plan, and what that needs."""

    text: str
    needs: str


CUDA_ON_CPU = "cuda-build-on-cpu"  # the code of a warning
CPU_BUILD = "cpu"  # of one that says why


class PlanWarning(Struct, frozen=True):
    """Something the plan's reader should know; `code` is kebab-case."""

    code: str
    message: str


class Download(Struct, frozen=True):
    """How much a plan brings; sizes are in bytes.

    `files` and `size` are to be fetched, `local` counts files that are on this machine already, `cached`
    those that the installer has in its cache. `installed` is what all take on disk, `fresh` what those take
    that are not in the cache; `free` is what is free there, None where that is not on this machine. `exact`:
    every file is known, and its size; `least`: of some file nobody tells the size.
    """

    files: int
    size: int
    installed: int
    fresh: int = 0
    local: int = 0
    cached: int = 0
    free: int | None = None
    exact: bool = False
    least: bool = False


class Sources(Struct, frozen=True):
    """Where the installer looks: `index_url` serves everything but the torch stack.

    With `only_binary` nothing is built, with `offline` no request is sent.
    """

    index_url: str | None  # None: the installer's own default
    extra_index_urls: tuple[str, ...]
    find_links: tuple[str, ...]  # pages and wheelhouses, the torch stack's first
    no_index: bool = False
    access: Access = ANYBODY
    only_binary: bool = False
    offline: bool = False


class OriginalRequest(Struct, frozen=True):
    """What a plan was asked for, so that its environment can be changed later in the same sense.

    `requirements` are all of them, those of the torch stack too; `mirrors`, `find_links` (folders absolute),
    `cuda`, `channel` and `devices` the options as typed.
    """

    requirements: tuple[str, ...]
    mirrors: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    cuda: str = "auto"
    channel: str = "auto"
    devices: tuple[int, ...] = ()


class Plan(Struct, frozen=True):
    """A decision that holds: everything needed to install it, and to explain it.

    `python` is MAJOR.MINOR; `python_path` the interpreter to use where one is already there. `packages` are
    the torch stack and, where a resolver ran, all it chose. `pins` are the requirements handed to the
    installer (`torch==2.14.1+cu126`), `requirements` the user's others, `constraints` what known-bad
    combinations forbid (`numpy<2`). `stack` tells where else the torch stack's files lie. With a conda tool
    as the manager, `conda` is its part. `hashed` is the path of a requirements file with the hash of every
    file: then that is installed, and nothing else. `python_release` is the MAJOR.MINOR.PATCH that the manager
    is to bring, where a patch release was asked for. `compatibility` are those of `why` that say how a build
    for a newer CUDA than the driver's runs. `asked` is what was asked for, where it is known. `download` is
    how much it brings, where that was looked up. `checked` are files of the stack that are on this disk: the
    installer gets these by their hashes, before anything else. `held` are the files beside the stack.
    """

    machines: tuple[Machine, ...]
    python: str
    python_path: str | None
    variant: str
    manager: str
    packages: tuple[PlannedPackage, ...]
    pins: tuple[str, ...]
    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    sources: Sources
    steps: tuple[Step, ...]
    why: tuple[Because, ...]
    rejected: tuple[Rejection, ...]
    advice: tuple[Advice, ...]
    warnings: tuple[PlanWarning, ...]
    stack: tuple[StackFile, ...] = ()
    conda: CondaPlan | None = None
    hashed: str | None = None
    python_release: str | None = None
    compatibility: tuple[Because, ...] = ()
    asked: OriginalRequest | None = None
    download: Download | None = None
    checked: CheckedStack | None = None
    held: HeldFiles | None = None

    @property
    def is_whole(self) -> bool:
        """Whether `packages` are all files that it brings: a resolver ran, or a lock names them."""
        return self.hashed is not None or len(self.packages) > len(self.pins)

    @property
    def is_condas(self) -> bool:
        """Whether torch itself is a package of a conda channel, not a wheel."""
        return self.conda is not None and not self.conda.mixed
