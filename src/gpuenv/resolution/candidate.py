"""One torch build under judgement, and what a rule finds wrong with it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from packaging.version import Version

from gpuenv.model.index import Listing
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.model.wheel import IndexKind, TorchBuild, WheelFile

if TYPE_CHECKING:
    from typing_extensions import Self

    from gpuenv.knowledge.accelerator_facts import PlannableBuild


class IndexedFile(Struct, frozen=True, eq=False):
    """A file and the listing that it stands on; `release` is its version without the local part."""

    file: WheelFile
    listing: Listing
    order: int  # the place of its source in the order of preference, 0 first
    release: Version


@cache
def release_of(version: Version) -> Version:
    """Return the version without its local part."""
    return Version(version.public)


class Candidate(Struct, frozen=True):
    """A torch build: what the matrix knows of it (`row`) and the files that indexes list (`files`).

    `kind` tells whose build it is: PyPI's own, the PyTorch index's of that variant, or a conda channel's.
    """

    torch: Version
    variant: Variant
    kind: IndexKind
    row: TorchBuild | None
    files: tuple[IndexedFile, ...]
    accelerated: PlannableBuild | None = None  # of builds that are for no NVIDIA GPU

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
        if self.accelerated is not None:
            return f"matrix accelerator-builds.json: {self.accelerated.source}"
        table = "conda.json" if self.kind == "conda" else "torch.json"
        return f"matrix {table}: {self.row.source}" if self.row else "index"


class FailureKey(NamedTuple):
    """What would have to change for a build to fit."""

    rule: str
    kind: str
    subject: str


class Failure(Struct, frozen=True, kw_only=True):
    """Why a build does not fit; rules whose failures have facts of their own derive classes from it.

    `subject` is what would have to change (a driver, a GPU, a project, a page), `kind` what is wrong with it.
    `detail` names the two facts that collide, `source` where they were read. `unread_page` is the page that
    may list what is lacking, where it could not be read.
    """

    rule: str
    kind: str = ""
    subject: str = ""
    detail: str
    source: str
    unread_page: str | None = None

    @property
    def key(self) -> FailureKey:
        """What failures have in common that one sentence can summarize."""
        return FailureKey(self.rule, self.kind, self.subject)

    def summarize(self, alike: tuple[Self, ...]) -> str:
        """Say in one sentence what failures of one key, the first of which this is, have in common."""
        same = all(failure.detail == self.detail for failure in alike)
        return self.detail if same else self._summarize_several(alike)

    def _summarize_several(self, alike: tuple[Self, ...]) -> str:
        return alike[0].detail
