"""The builds for an accelerator: those the matrix knows, each with the files that indexes list of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec.structs import replace
from packaging.version import Version

from gpuenv.knowledge.accelerator_facts import PlannableBuild
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import Listing
from gpuenv.model.variant import CPU, Variant
from gpuenv.model.wheel import IndexKind, WheelFile
from gpuenv.resolution.accelerators import jetson
from gpuenv.resolution.candidate import Candidate, IndexedFile, release_of
from gpuenv.resolution.target import Target

# whose builds are planned; others are frozen, have one file, or are known by hearsay
PLANNED_INDEXES = (
    "pytorch",
    "pypi",
    "amd",
)  # in this order: AMD's own counts where it alone has code for a GPU
_ANY = "any"  # an NPU's torch is the CPU's, of whatever index
_MACOS = ("osx-arm64", "osx-64")
_Key = tuple[Version, Variant, str]


PLUGINS: Mapping[str, tuple[str, ...]] = {"npu": ("torch-npu",)}  # projects that go with torch, by kind


def with_variants(listings: tuple[Listing, ...], target: Target, knowledge: Knowledge) -> tuple[Listing, ...]:
    """Return the listings with the variants of the matrix on their files.

    A wheel for macOS is for MPS and the CPU both, and an NPU's torch is the CPU's build.
    """
    if target.platform not in _MACOS and target.kind != "npu":
        return listings
    variant = CPU if target.kind == "cpu" else Variant(target.kind)
    return tuple(
        replace(
            listing,
            files=tuple(
                replace(file, variant=variant) if _runs_without_cuda(file, target, knowledge) else file
                for file in listing.files
            ),
        )
        for listing in listings
    )


def _runs_without_cuda(file: WheelFile, target: Target, knowledge: Knowledge) -> bool:
    """Whether a file is a build for the CPU, or for macOS; PyPI's for Linux may be for CUDA."""
    if file.version.local is not None:
        return file.version.local == "cpu"
    if target.platform in _MACOS or file.name in PLUGINS["npu"]:
        return True
    if file.variant is not None:
        return file.variant.is_cpu
    return file.name == "torch" and knowledge.pypi_variant(release_of(file.version), target.platform) == CPU


def accelerated_candidates(
    torches: Iterable[IndexedFile], target: Target, knowledge: Knowledge
) -> tuple[Candidate, ...]:
    """Return every build of the target's kind for its platform, with the files that are listed of it."""
    files: dict[_Key, list[IndexedFile]] = defaultdict(list)
    builds = planned_builds(target, knowledge)
    for item in torches:
        if item.file.variant is not None:
            key = item.release, item.file.variant, _index_of(item, target, builds, knowledge)
            files[key].append(item)
    candidates: dict[object, Candidate] = {}
    for build in builds:
        key = build.torch, _variant(build, target), _ANY if build.torch_npu else build.index
        # a release may have several rows, for several Pythons
        candidates.setdefault((key, build.torch_npu), _candidate(key, files.get(key, []), build))
    known = {(candidate.torch, candidate.variant) for candidate in candidates.values()}
    by_row = target.kind in PLUGINS or target.board is not None
    for key, listed in () if by_row else tuple(files.items()):
        if key[:2] not in known and key[1].kind == target.kind:
            candidates[key] = _candidate(key, listed, _unknown_build(key, target, knowledge))
    return tuple(candidates.values())


def planned_builds(target: Target, knowledge: Knowledge) -> tuple[PlannableBuild, ...]:
    """Return the known builds of the target's kind for its platform, of indexes that count."""
    if target.board is not None:
        return jetson.builds_for(target, knowledge)
    builds = knowledge.accelerators.builds_of(target.kind, target.platform)
    return tuple(build for build in builds if build.index in PLANNED_INDEXES)


def _variant(build: PlannableBuild, target: Target) -> Variant:
    """On macOS one wheel is for both: which it is depends on what the machine runs it on."""
    return Variant(target.kind) if target.platform in _MACOS else build.variant


def _index_of(
    item: IndexedFile, target: Target, builds: tuple[PlannableBuild, ...], knowledge: Knowledge
) -> str:
    """Return whose build a file is, wherever it lies: AMD's own and the PyTorch index' are not the same.

    A wheelhouse or a mirror does not tell; the local version does where one index alone has it.
    """
    if target.kind == "npu":
        return _ANY
    source = item.listing.source
    for name in (source.name, knowledge.accelerators.index_at(source.url)):
        if name is not None and name.startswith(("amd", jetson.INDEX)):
            return name
    if item.file.version.local is None:
        of_board = target.board is not None and item.file.variant is not None  # by its folder
        return jetson.INDEX if of_board else "pypi"
    key = item.release, item.file.variant
    named = {build.index for build in builds if (build.torch, build.variant) == key}
    return named.pop() if len(named) == 1 and target.board is None else "pytorch"


def _candidate(key: _Key, files: Iterable[IndexedFile], build: PlannableBuild) -> Candidate:
    torch, variant, index = key
    declared = build.declared
    fitting = tuple(
        item for item in files if declared is None or declared.contains(item.file.version, prereleases=True)
    )
    kind: IndexKind = "pypi" if index in ("pypi", _ANY, jetson.INDEX) else "pytorch"
    return Candidate(torch, variant, kind, None, fitting, build)


def _unknown_build(key: _Key, target: Target, knowledge: Knowledge) -> PlannableBuild:
    """Return what is known of a release that the matrix lacks: MPS needs what it needed in the one before."""
    torch, variant, index = key
    build = PlannableBuild(torch, variant, index, target.platform)
    known = knowledge.accelerators.builds_of(target.kind, target.platform)
    before = max((item for item in known if item.torch < torch), key=lambda item: item.torch, default=None)
    return replace(build, mps=before.mps) if before else build
