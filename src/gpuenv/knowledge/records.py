"""One row of a matrix, as a value: what each kind of row means, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, TypeVar

from msgspec import Struct
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.model.capability import (
    Architecture,
    ComputeCapability,
    parse_architecture,
    parse_compute_capability,
)
from gpuenv.model.machine import DriverVersion
from gpuenv.model.variant import CudaVersion, Variant, parse_cuda_version
from gpuenv.model.wheel import Evidence, TorchBuild

Row = Mapping[str, Any]
DriverOs = Literal["linux", "windows"]
SYSTEMS: tuple[DriverOs, ...] = ("linux", "windows")
# who finds known-bad combinations beside the rules of a plan; `never`: what looks bad and is not
JUDGES = ("resolver", "doctor", "explain", "conda", "mirrors", "detect", "never")
# conditions of known-bad rows that are words, not versions
WORDS = frozenset({"os", "arch", "platform", "index", "variant", "manager", "channel"})

# By what a pair of a torch and a companion was decided: a requirement in METADATA; where that names no one
# torch, the CUDA in a member of the wheel; the project's own table; the numbers of the releases.
BASES = ("metadata", "version.py", "cpp_lib.json", "documented", "number")


class DriverFloor(Struct, frozen=True):
    """The least driver that something runs on."""

    version: DriverVersion
    source: str


class ArchitectureSupport(Struct, frozen=True):
    """A GPU generation, and the toolkits and drivers that know it; None: still supported."""

    name: str
    first_cuda: CudaVersion
    last_cuda: CudaVersion | None
    last_driver_branch: int | None
    source: str


class Companions(Struct, frozen=True):
    """The releases of one companion that go with a torch release, best first.

    A specifier stands in place of versions where torch itself asks for the project (triton). `basis` tells by
    what the best was decided: one of BASES.
    """

    project: str
    versions: tuple[Version, ...]
    specifier: SpecifierSet | None
    basis: str
    source: str
    evidence: Evidence


class CompanionRelease(Struct, frozen=True):
    """A release of a companion; `pythons` are wheel tags (`cp312`, `py3`).

    `pins_torch` tells whether its metadata asks for one torch release. `pypi_cuda` is the CUDA of PyPI's
    files by platform, where it was read. `cuda_match` tells how closely its CUDA must be torch's: `exact`,
    `major`, or None for a project without CUDA code. `architectures` is what it has code for, where that was
    read.
    """

    project: str
    version: Version
    pins_torch: bool
    requires_python: SpecifierSet | None
    pythons: tuple[str, ...]
    yanked: bool
    pypi_cuda: tuple[tuple[str, CudaVersion], ...]
    cuda_match: Literal["exact", "major"] | None
    architectures: tuple[Architecture, ...]
    source: str


class KnownBad(Struct, frozen=True):
    """A combination that installs and then fails.

    One of `when` must hold, and of it all; without any the entry is prose. A condition is a PEP 440 specifier
    over a version (`torch`, `python`, `cuda`, `capability`, a package), or a word (`os`, `platform`).
    `judge` is the rule of the plan that keeps out of it, or the command that finds it. `constrain` and `add`
    keep the plan out of it; `forbid` says that nothing a plan installs can; `avoid` prefers another Python;
    `warn` tells. It does not apply where a package of `unless` is there.
    """

    id: str
    judge: str
    when: tuple[tuple[tuple[str, SpecifierSet | str], ...], ...]
    unless: tuple[str, ...]
    constrain: tuple[str, ...]
    add: tuple[str, ...]
    forbid: bool
    avoid: bool
    warn: bool
    effect: str
    remedy: str
    source: str


class LibraryFloor(Struct, frozen=True):
    """From release `since` on, a library that builds bring runs on no GPU below `min_capability`.

    `counts` tells whose release `since` is: the library's own, or that of the CUDA it was made for. `cuda`
    narrows the row to builds for those CUDA releases. It matters where a machine has `least_gpus` or more,
    on `platforms`.
    """

    library: str
    name: str
    counts: Literal["release", "cuda"]
    since: Version
    cuda: SpecifierSet | None
    min_capability: ComputeCapability
    least_gpus: int
    platforms: tuple[str, ...]
    source: str


# The same few hundred texts stand in thousands of places; parsing each once keeps start-up short.
as_version = cache(Version)
as_specifier = cache(SpecifierSet)
as_capability = cache(parse_compute_capability)
as_cuda_version = cache(parse_cuda_version)
_as_architecture = cache(parse_architecture)
_T = TypeVar("_T")


def or_none(parse: Callable[[str], _T], text: str | None) -> _T | None:
    """Parse a field that may be null or left out."""
    return parse(text) if text else None


_as_variant = cache(Variant)


def from_row(kind: Callable[..., _T], row: Row, **parsed: object) -> _T:
    """Make a value of a class of `parsed` and of what the row has by the names of its other fields."""
    names = [name for name in kind.__annotations__ if name not in parsed]
    values = {name: tuple(row[name]) if isinstance(row[name], list) else row[name] for name in names}
    return kind(**parsed, **values)


@cache
def _as_architectures(texts: tuple[str, ...]) -> tuple[Architecture, ...]:
    return tuple(_as_architecture(text) for text in texts)


def parse_torch_build(row: Row) -> TorchBuild:
    """Read a row of torch.json.

    {"torch": "2.14.1", "variant": "cu126", "platform": "linux-64", "index": "pytorch", "cuda": "12.6",
     "pythons": ["cp310", "cp314t"], "architectures": ["sm_50", "sm_90"], "cudnn": "9.10.2.21",
     "tags": ["manylinux_2_28_x86_64"], "source": "...", "evidence": "assumed"}
    """
    return TorchBuild(
        torch=as_version(row["torch"]),
        variant=_as_variant(row["variant"]),
        cuda=or_none(as_cuda_version, row["cuda"]),
        platform=row["platform"],
        index=row["index"],
        pythons=tuple(row["pythons"]),
        architectures=_as_architectures(tuple(row["architectures"])),
        cudnn=row["cudnn"],
        tags=tuple(row["tags"]),
        source=row["source"],
        evidence=row["evidence"],
    )


def parse_driver_floors(row: Row) -> Iterator[tuple[DriverOs, DriverFloor]]:
    """Read the floors of a release or family row of cuda.json; a system without one is left out.

    {"kind": "family", "major": 12, "linux": "525.60.13", "windows": "527.41", "source": "..."}
    """
    for system in SYSTEMS:
        if row[system] is not None:
            yield system, DriverFloor(DriverVersion(row[system]), row["source"])


def parse_architecture_support(row: Row) -> ArchitectureSupport:
    """Read an architecture row of cuda.json.

    {"kind": "architecture", "architecture": "Kepler", "compute_capabilities": ["3.5", "3.7"],
     "first_cuda": "5.0", "last_cuda": "11.8", "last_driver_branch": 470, "source": "..."}
    """
    return from_row(
        ArchitectureSupport,
        row,
        name=row["architecture"],
        first_cuda=as_cuda_version(row["first_cuda"]),
        last_cuda=or_none(as_cuda_version, row["last_cuda"]),
    )


def parse_companions(row: Row) -> Companions:
    """Read a pair row of companions.json.

    {"kind": "pair", "torch": "2.14.1", "project": "torchvision", "versions": ["0.29.1"],
     "basis": "version.py", "source": "...", "evidence": "matrix"}
    {"kind": "pair", "torch": "2.14.1", "project": "triton", "specifier": "~=3.8.0", "basis": "metadata", ...}
    """
    versions = tuple(as_version(version) for version in row.get("versions", ()))
    return from_row(Companions, row, versions=versions, specifier=or_none(as_specifier, row.get("specifier")))


def parse_companion_release(row: Row) -> CompanionRelease:
    """Read a release row of companions.json.

    {"kind": "release", "project": "torchvision", "version": "0.29.1", "requires_torch": ">=2.14.0",
     "requires_python": "!=3.14.1,>=3.10", "pythons": ["cp310"], "yanked": false,
     "pypi_cuda": {"linux-64": "13.0"}, "cuda_match": "major",
     "architectures": ["sm_80"], "source": "..."}
    """
    return from_row(
        CompanionRelease,
        row,
        version=as_version(row["version"]),
        pins_torch=(row["requires_torch"] or "").startswith("=="),
        requires_python=or_none(as_specifier, row["requires_python"]),
        pypi_cuda=tuple((platform, as_cuda_version(cuda)) for platform, cuda in row["pypi_cuda"].items()),
        architectures=_as_architectures(tuple(row.get("architectures", ()))),
    )


def parse_known_bad(row: Row) -> KnownBad:
    """Read a row of known-bad.json.

    {"id": "numpy2-linux", "judge": "known-bad", "when": [{"torch": "<2.3", "numpy": ">=2"}], "unless": [],
     "constrain": ["numpy<2"], "add": [], "forbid": false, "avoid": false, "warn": false, "effect": "...",
     "remedy": "numpy<2", "source": "..."}
    """
    when = tuple(
        tuple((name, wanted if name in WORDS else as_specifier(wanted)) for name, wanted in item.items())
        for item in row["when"]
    )
    return from_row(KnownBad, row, when=when)


def parse_library_floor(row: Row) -> LibraryFloor:
    """Read a floor row of libraries.json.

    {"kind": "floor", "library": "cudnn", "name": "cuDNN", "counts": "release", "from": "9.11", "cuda": null,
     "min_compute_capability": "7.5", "least_gpus": 1, "platforms": ["linux-64"], "source": "..."}
    """
    return from_row(
        LibraryFloor,
        row,
        since=as_version(row["from"]),
        cuda=or_none(as_specifier, row["cuda"]),
        min_capability=as_capability(row["min_compute_capability"]),
    )
