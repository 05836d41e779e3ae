"""What is known to be published for accelerators without network access: files by the rows of the matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.urls import project_page
from gpuenv.indexes.wheel_files import parse_name
from gpuenv.knowledge.accelerator_facts import PlannableBuild
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.wheel import WheelFile
from gpuenv.resolution.accelerators import jetson
from gpuenv.resolution.accelerators.collect import planned_builds
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.target import Target

_TORCH = canonicalize_name("torch")
_PLUGIN = canonicalize_name("torch-npu")
_PYPI = "pypi"


def known_accelerator_files(
    projects: tuple[NormalizedName, ...], target: Target, knowledge: Knowledge, environ: Mapping[str, str]
) -> tuple[Listing, ...]:
    """Return what the indexes of the target's kind are known to list, a listing an index and project."""
    builds = planned_builds(target, knowledge)
    sources = {_source(build, target, knowledge, environ): None for build in builds}
    return tuple(
        _listing(source, project, own, knowledge)
        for source in sources
        for own in ([build for build in builds if _source(build, target, knowledge, environ) == source],)
        for project in projects
    )


def indexes_of(
    target: Target, knowledge: Knowledge, builds: tuple[Candidate, ...]
) -> tuple[IndexSource, ...]:
    """Return the indexes beside the PyTorch index that builds which would run are on: they are read, too."""
    needed = [item.accelerated for item in builds if item.accelerated]
    if any(build.index in ("pytorch", _PYPI) for build in needed):
        return ()
    sources = (_source(build, target, knowledge, {}) for build in needed)
    return tuple(dict.fromkeys(replace(source, kind="pytorch") for source in sources))


def _listing(
    source: IndexSource, project: NormalizedName, builds: Iterable[PlannableBuild], knowledge: Knowledge
) -> Listing:
    files = {
        file.filename: file for build in builds for file in _files(build, project, source.url, knowledge)
    }
    return Listing(source, project, tuple(files.values()), project_page(source.url, project))


def _source(
    build: PlannableBuild, target: Target, knowledge: Knowledge, environ: Mapping[str, str]
) -> IndexSource:
    origin = tr("the listing shipped with gpuenv")
    if build.index == _PYPI:
        return IndexSource("snapshot", default_index(environ) or _PYPI, origin, _PYPI)
    if target.board is not None:
        address = jetson.address_of(target, build.variant, knowledge) or build.index
        return IndexSource("snapshot", address, origin, build.index)
    known = knowledge.accelerators.index(build.index, target.kind)
    address = known.address.partition("/{variant}")[0] if known else build.index
    address = address.rstrip("/").removesuffix("/xpu")  # a folder of the PyTorch index
    return IndexSource("snapshot", address, origin, build.index)


def _files(
    build: PlannableBuild, project: NormalizedName, address: str, knowledge: Knowledge
) -> Iterator[WheelFile]:
    for version in _versions(build, project, knowledge):
        plain = build.index in (_PYPI, jetson.INDEX) or version.local
        local = "" if plain else f"+{build.variant}"
        head = f"{project.replace('-', '_')}-{version}{local}"
        if project == _TORCH and build.build:
            head = f"{head}-{build.build}"
        for python in build.pythons:
            for tag in build.tags:
                filename = f"{head}-{python.rstrip('t')}-{_abi(build, python)}-{tag}.whl"
                name = parse_name(filename)
                yield WheelFile(
                    name.project,
                    name.version,
                    name.tags,
                    filename,
                    _url(build, address, filename),
                    build.variant if name.local or build.index == jetson.INDEX else None,
                    assumed=build.evidence == "assumed",
                )


def _abi(build: PlannableBuild, python: str) -> str:
    """The ABI tag: wheels for macOS had none until free-threaded Pythons came."""
    return "none" if build.platform.startswith("osx") and not python.endswith("t") else python


def _url(build: PlannableBuild, address: str, filename: str) -> str:
    """The address where it is known: of PyPI's files only their page is."""
    if build.index != "pytorch":
        return ""
    return f"{address}/{build.variant}/{filename.replace('+', '%2B')}"


def _versions(build: PlannableBuild, project: NormalizedName, knowledge: Knowledge) -> tuple[Version, ...]:
    """The releases of a project that go with a build."""
    if build.torch_npu is not None:
        return (build.torch_npu,) if project == _PLUGIN else ()
    if project == _TORCH:
        return (build.torch,)
    return knowledge.companions_of(build.torch).get(project, ())
