"""Container images: what a base brings, and all that a Dockerfile is written from."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gpuenv.model.locked import Locked
from gpuenv.model.variant import CudaVersion
from gpuenv.model.wheel import Platform

Flavour = Literal["slim", "cuda-runtime", "cuda-devel", "own"]  # own: the user's, of which nothing is known


class BaseImage(Struct, frozen=True):
    """A row of matrices/images.json, or an image of the user's own with what is known of it.

    `name` is the repository with its tag or digest, `digest` that of the tag where it is known,
    `python` MAJOR.MINOR, `glibc` the distribution's.
    `packages` of the distribution are wanted where it runs, `build_packages` besides where an environment is
    made. An empty `registry`: the name says all.
    """

    registry: str
    name: str
    flavour: Flavour
    python: str | None = None
    glibc: str | None = None
    cuda: CudaVersion | None = None
    packages: tuple[str, ...] = ()
    build_packages: tuple[str, ...] = ()
    platforms: tuple[Platform, ...] = ()
    source: str = "option --base"
    digest: str | None = None

    @property
    def reference(self) -> str:
        """The image with its registry: `docker.io/library/python:3.12-slim-bookworm`."""
        return f"{self.registry}/{self.name}" if self.registry else self.name

    @property
    def pinned(self) -> str:
        """The name with its digest, which is the same image tomorrow: `library/python:3.12@sha256:...`."""
        return f"{self.name}@{self.digest}" if self.digest else self.name

    @property
    def is_fixed(self) -> bool:
        """Whether a digest says which image it is, and not a tag alone."""
        return "@" in self.pinned

    @property
    def has_toolkit(self) -> bool:
        """Whether it brings CUDA's libraries, beside those that torch brings."""
        return self.flavour in ("cuda-runtime", "cuda-devel")


class ImageRecipe(Struct, frozen=True):
    """What a Dockerfile is written from.

    `build` makes the environment, `run` is what the image starts from. `gpus` are the GPUs in words,
    `capabilities` theirs; `driver` is the least one on Linux, None for a CPU build; `architectures` are what
    torch is compiled for, `alone` the capabilities of integrated devices, whose code runs on them alone.
    Of a build for ROCm they are AMD's (`gfx1100`), but no `capabilities` where a package beside torch has the
    code for a device.
    `check` is the script that the image carries, `version` gpuenv's, `asked` the command that it answers.
    """

    locked: Locked
    build: BaseImage
    run: BaseImage
    platform: Platform
    gpus: tuple[str, ...]
    capabilities: tuple[str, ...]
    driver: str | None
    cuda: CudaVersion | None
    is_for_rocm: bool
    architectures: tuple[str, ...]
    alone: tuple[str, ...]
    check: str
    version: str
    asked: str
