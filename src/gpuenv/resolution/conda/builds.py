"""Builds of torch on conda channels: what is known of them without asking a channel (matrices/conda.json)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.tags import Tag
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import Row, from_row, parse_torch_build
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.python import parse_python_tag
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import PLATFORM_TAGS, Platform, TorchBuild, WheelFile

_PYTHON = "{python}"


class CondaBuild(Struct, frozen=True):
    """One row of matrices/conda.json: a torch release x variant x platform of a channel.

    `pattern` is what its build strings look like, with `{python}` for MAJOR.MINOR; `requires` are specs that
    must stand beside torch's so that a solver takes that build; `channels` are those to solve with, in order.
    """

    channel: str
    build: TorchBuild
    pattern: str
    requires: tuple[str, ...]
    channels: tuple[str, ...]
    companions: tuple[tuple[str, tuple[Version, ...]], ...]  # those of the channel, where they are known

    def pattern_for(self, python: str) -> str:
        """Return the pattern of the build for a Python, MAJOR.MINOR."""
        return self.pattern.replace(_PYTHON, python)


def parse_conda_build(row: Mapping[str, Any]) -> CondaBuild:
    """Parse a row of matrices/conda.json; raise KeyError, TypeError or ValueError.

    {"channel": "pytorch", "torch": "2.5.1", "variant": "cu124", "cuda": "12.4", "platform": "linux-64",
     "pythons": ["cp312"], "architectures": ["sm_90"], "cudnn": "9.1.0", "glibc": null,
     "build": "py{python}_cuda12.4*", "requires": ["pytorch-cuda 12.4.*"],
     "channels": ["pytorch", "nvidia", "conda-forge"], "torchvision": ["0.20.1"], "torchaudio": []}
    """
    return from_row(
        CondaBuild,
        row,
        build=parse_torch_build(_as_torch_row(row)),
        pattern=row["build"],
        companions=tuple(
            (project, tuple(map(Version, row[project])))
            for project in ("torchvision", "torchaudio")
            if row[project]
        ),
    )


def _as_torch_row(row: Mapping[str, Any]) -> Row:
    return {**row, "index": "conda", "tags": [platform_tag(row["platform"], row["glibc"])]}


def platform_tag(platform: str, glibc: str | None) -> str:
    """Return the wheel tag that says the same of a system: its architecture, and the least glibc if known."""
    plain = PLATFORM_TAGS[platform]
    if glibc is None or not plain.startswith("linux_"):
        return plain
    return f"manylinux_{glibc.replace('.', '_')}_{plain.removeprefix('linux_')}"


def python_tag(python: str, platform: str) -> Tag:
    """Return the wheel tag for a Python (`cp312`, free-threaded `cp313t`) and a platform's tag."""
    return Tag(python.removesuffix("t"), python, platform)


def knowledge_of_channel(
    knowledge: Knowledge, rows: tuple[Mapping[str, Any], ...], channel: str
) -> Knowledge:
    """Return the knowledge with the builds of a conda channel in place of wheels."""
    return replace(
        knowledge, torch_rows=tuple(_as_torch_row(row) for row in rows if row["channel"] == channel)
    )


def known_packages(
    builds: tuple[CondaBuild, ...],
    projects: tuple[NormalizedName, ...],
    platform: Platform,
    knowledge: Knowledge,
    url: str,
) -> tuple[Listing, ...]:
    """Return what one channel is known to have of the projects, without asking it: each file is assumed."""
    here = [build for build in builds if build.build.platform == platform]
    if not here:
        return ()
    source = IndexSource("conda", url, "matrix conda.json", here[0].channel)
    wheel_files: dict[NormalizedName, list[WheelFile]] = {project: [] for project in projects}
    for build in here:
        for project, versions in _stack(build, knowledge).items():
            if project in wheel_files:
                wheel_files[project] += [
                    _file(build, project, version, tag) for version in versions for tag in build.build.pythons
                ]
    return tuple(Listing(source, project, tuple(files), url) for project, files in wheel_files.items())


def _stack(build: CondaBuild, knowledge: Knowledge) -> dict[NormalizedName, tuple[Version, ...]]:
    paired = dict(knowledge.companions_of(build.build.torch)) | dict(build.companions)
    companions = {canonicalize_name(project): versions for project, versions in paired.items()}
    return {canonicalize_name("torch"): (build.build.torch,), **companions}


def _file(build: CondaBuild, project: NormalizedName, version: Version, python: str) -> WheelFile:
    is_torch = project == "torch"
    return conda_file(
        project,
        version,
        python=python,
        tag=build.build.tags[0],
        variant=build.build.variant,
        build=build.pattern_for(parse_python_tag(python).version) if is_torch else "*",
    )


def conda_file(
    project: NormalizedName, version: Version, *, python: str, tag: str, variant: Variant, build: str
) -> WheelFile:
    """Return a package that no channel was asked for, named by a pattern."""
    return WheelFile(
        name=project,
        version=version,
        tags=frozenset({python_tag(python, tag)}),
        filename=f"{project}-{version}-{build}",
        url="",
        variant=variant,
        assumed=True,
        build=build,
    )
