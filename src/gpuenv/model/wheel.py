"""Builds of torch, as the matrix knows them, and wheel files, as an index lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct
from packaging.tags import Tag
from packaging.utils import NormalizedName
from packaging.version import Version

from gpuenv.model.capability import Architecture
from gpuenv.model.variant import CudaVersion, Variant

Platform = Literal["linux-64", "linux-aarch64", "win-64", "osx-arm64", "osx-64"]
PLATFORMS: tuple[Platform, ...] = get_args(Platform)
CUDA_PLATFORMS: tuple[Platform, ...] = ("linux-64", "linux-aarch64", "win-64")  # of matrices/torch.json
PLATFORM_TAGS: Mapping[str, str] = {  # of wheels, without the glibc or macOS they need
    "linux-64": "linux_x86_64",
    "linux-aarch64": "linux_aarch64",
    "win-64": "win_amd64",
    "osx-arm64": "macosx_arm64",
    "osx-64": "macosx_x86_64",
}
Evidence = Literal["wheel", "matrix", "assumed"]
IndexKind = Literal["pypi", "pytorch", "conda"]


class TorchBuild(Struct, frozen=True):
    """One row of matrices/torch.json: a torch release x variant x platform x kind of index.

    `pythons` are wheel tags (`cp312`, `cp313t`); the companions are the versions that pair with the release.
    """

    torch: Version
    variant: Variant
    cuda: CudaVersion | None
    platform: Platform
    index: IndexKind
    pythons: tuple[str, ...]
    architectures: tuple[Architecture, ...]
    cudnn: str | None
    tags: tuple[str, ...]
    source: str
    evidence: Evidence


class WheelFile(Struct, frozen=True):
    """A wheel that an index lists; `sha256` and `size` (bytes) are None where the index does not tell.

    `uploaded` is the day (ISO 8601) if it is known, `has_metadata` that METADATA lies beside it (PEP 658).

    A conda package stands here too, with the tags that a wheel of its Python and platform would have.
    """

    name: NormalizedName
    version: Version  # with its local part, as the file is named
    tags: frozenset[Tag]
    filename: str
    url: str  # empty where only the page is known: PyPI's files in the snapshot
    variant: Variant | None  # None: a file whose variant neither its name nor its place tells
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    yanked: bool = False
    assumed: bool = False  # named from the release matrix; no page that was read lists it
    uploaded: str | None = None
    has_metadata: bool = False
    build: str | None = None  # of a conda package: its build string, or a pattern for it
