"""What is known to be published without network access: the listing that ships with gpuenv."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from gpuenv import matrices
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.snapshot import Bases, Pairing, read_snapshot
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.rules.platform_tags import named_for_platform
from gpuenv.resolution.target import Target

_NOWHERE = "pypi"  # for PyPI in an offline plan where no installer has its URL


def known_files(
    projects: tuple[NormalizedName, ...],
    target: Target,
    knowledge: Knowledge,
    official: Mirror,
    environ: Mapping[str, str],
) -> tuple[Listing, ...]:
    """Return what the official indexes are known to list."""
    builds = knowledge.builds_of(target.platform)
    pairings = tuple(
        Pairing(torch, canonicalize_name(project), version)
        for torch in dict.fromkeys(build.torch for build in builds)
        for project, versions in knowledge.companions_of(torch).items()
        for version in versions
        if _is_for_each_variant(project, version, knowledge)
    )
    pytorch = official.torch.address if official.torch else _NOWHERE
    bases = Bases(pytorch, default_index(environ) or _NOWHERE)
    wanted = set(projects)
    fitting = _Fitting(target)
    rows = (
        row
        for row in matrices.load("wheels")
        if row["project"] in wanted and fitting[row["filename"].rpartition("-")[2]]
    )
    listings = read_snapshot(rows, builds, pairings, projects, bases)
    if not target.is_accelerated:
        return listings
    from gpuenv.planning.pages.accelerator_listing import known_accelerator_files  # noqa: PLC0415

    return (*known_accelerator_files(projects, target, knowledge, environ), *listings)


def own_sources(
    target: Target, knowledge: Knowledge, builds: tuple[Candidate, ...]
) -> tuple[IndexSource, ...]:
    """Return the indexes beside the PyTorch index that builds for an accelerator are on."""
    if not target.is_accelerated:
        return ()
    from gpuenv.planning.pages.accelerator_listing import indexes_of  # noqa: PLC0415

    return indexes_of(target, knowledge, builds)


class _Fitting(dict[str, bool]):
    """Whether files with such an end of their name are for a platform; the same few stand on thousands."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target

    def __missing__(self, ending: str) -> bool:
        self[ending] = named_for_platform(ending, self._target)
        return self[ending]


def _is_for_each_variant(project: str, version: Version, knowledge: Knowledge) -> bool:
    """Whether a release was published for each variant of its torch, unlike one with kernels of its own."""
    release = knowledge.companion_release(project, version)
    return release is None or not release.architectures


def known_digests() -> dict[str, str]:
    """Return the digests of the PyTorch index's files, by name."""
    rows = matrices.load("wheels")
    return {row["filename"]: row["sha256"] for row in rows if row["index"] == "pytorch" and row.get("sha256")}
