"""One torch build under judgement, and what a rule finds wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from gpuenv.model.index import Listing
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.model.wheel import IndexKind, TorchBuild, WheelFile


@dataclass(frozen=True, slots=True, eq=False)
class IndexedFile:
    """A file and the listing that it stands on; `release` is its version without the local part."""

    file: WheelFile
    listing: Listing
    order: int  # the place of its source in the order of preference, 0 first
    release: Version


@cache
def release_of(version: Version) -> Version:
    """Return the version without its local part."""
    return Version(version.public)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A torch build: what the matrix knows of it (`row`) and the files that indexes list (`files`).

    `kind` tells whose build it is: PyPI's own, the PyTorch index's of that variant, or a conda channel's.
    """

    torch: Version
    variant: Variant
    kind: IndexKind
    row: TorchBuild | None
    files: tuple[IndexedFile, ...]

    @property
    def cuda(self) -> CudaVersion | None:
        """The CUDA release it was built with; None for a CPU build."""
        return self.row.cuda if self.row and self.row.cuda else self.variant.cuda

    @property
    def label(self) -> str:
        """The build in words: PyPI's do not carry their variant in the version."""
        name = f"torch {self.torch}"
        if self.kind == "conda":
            return f"{name} ({self.variant}, conda)"
        return f"{name}+{self.variant}" if self.kind == "pytorch" else f"{name} ({self.variant})"

    @property
    def source(self) -> str:
        """Where it is known from."""
        table = "conda.json" if self.kind == "conda" else "torch.json"
        return f"matrix {table}: {self.row.source}" if self.row else "index"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a build does not fit.

    `key` is the fact that would have to change: failures of one key are told in one sentence. `detail` names
    the two facts that collide; `source` where they were read; `facts` are the words a sentence needs.
    """

    rule: str
    key: tuple[str, ...]
    detail: str
    source: str
    facts: tuple[tuple[str, str], ...] = ()

    def fact(self, name: str) -> str:
        """One of the words; KeyError where the rule has no such word."""
        return dict(self.facts)[name]
