"""What is worth knowing of the matrices and no fault of theirs: what was never published, or never seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from packaging.version import Version

from gpuenv.i18n.messages import N_, clauses, series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import CompanionRelease
from gpuenv.matrix_checks.keys import MatrixNote, Row, row_key
from gpuenv.matrix_checks.published_files import PublishedWheel, listed_files
from gpuenv.model.capability import ComputeCapability, parse_compute_capability
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import TorchBuild
from gpuenv.resolution.gpu_coverage import cover, driver_system
from gpuenv.resolution.rules.companion import fits_variant, pypi_variant

Tables = Mapping[str, Sequence[Row]]
_MOST_NAMES = 3
_NEEDED = ("torch", "cuda", "gpus", "companions", "known-bad", "libraries")


def note_matrices(tables: Tables) -> tuple[MatrixNote, ...]:
    """Return what is worth knowing of whole and sound tables; with one of the six missing, nothing."""
    if not all(table in tables for table in _NEEDED):
        return ()
    torch, cuda, gpus, companions, known_bad, libraries = (tables[table] for table in _NEEDED)
    knowledge = Knowledge(torch, cuda, gpus, companions, known_bad, libraries)
    files = listed_files(tables.get("wheels", ()))
    seen = (*_unseen_builds(knowledge, files), *_unseen_companions(knowledge, files)) if files else ()
    return (
        *_gpus_without_build(knowledge),
        *_floors_of_the_family_alone(knowledge),
        *_pypi_apart(tables["companions"], knowledge),
        *seen,
    )


def _gpus_without_build(knowledge: Knowledge) -> Iterator[MatrixNote]:
    names: dict[ComputeCapability, list[str]] = {}
    for row in knowledge.gpu_rows:
        names.setdefault(parse_compute_capability(row["compute_capability"]), []).append(row["name"])
    for capability, of_it in sorted(names.items(), key=lambda item: item[0]):
        if not _has_build(capability, knowledge):
            key = f"{of_it[0]} {capability}"
            facts = {"capability": capability, "names": _some(of_it)}
            message = tr("no build runs on compute capability {capability}: {names}", **facts)
            yield MatrixNote("gpus", key, message, "gpu-without-build")


def _some(names: Sequence[str]) -> str:
    shown = [*names[:_MOST_NAMES]]
    more = len(names) - len(shown)
    return series([*shown, tr("{count} more", count=more)] if more else shown)


def _has_build(capability: ComputeCapability, knowledge: Knowledge) -> bool:
    builds = (build for build in reversed(knowledge.builds) if build.cuda)
    return any(cover(build, capability, knowledge) in ("native", "ptx") for build in builds)


def _floors_of_the_family_alone(knowledge: Knowledge) -> Iterator[MatrixNote]:
    results = {(build.cuda, driver_system(build.platform)) for build in knowledge.builds if build.cuda}
    for cuda, system in sorted(results):
        if knowledge.release_floor(cuda, system) is None:
            template = N_("only the floor of CUDA {major} is known on {system}, not that of {cuda} itself")
            message = tr(template, major=cuda.major, system=system, cuda=cuda)
            yield MatrixNote("cuda", f"{cuda} {system}", message, "floor-of-family")


def _pypi_apart(companions: Sequence[Row], knowledge: Knowledge) -> Iterator[MatrixNote]:
    """Releases whose files on PyPI can't load beside PyPI's torch of the release that they pin."""
    for row in companions:
        wanted = row.get("requires_torch") or ""
        torch = knowledge.pypi_variant(Version(wanted[2:]), "linux-64") if _names_one(wanted) else None
        own = Variant("cu" + row["pypi_cuda"].get("linux-64", "").replace(".", "")) if torch else None
        if torch and own and own.cuda and torch.cuda and not _loads(own, torch, row["cuda_match"]):
            template = N_("PyPI has it for CUDA {own}, and torch {torch} for CUDA {cuda}")
            message = tr(template, own=own.cuda, torch=wanted[2:], cuda=torch.cuda)
            yield MatrixNote("companions", row_key("companions", row), message, "apart-on-pypi")


def _names_one(specifier: str) -> bool:
    return specifier.startswith("==") and "*" not in specifier and "," not in specifier


def _loads(own: Variant, torch: Variant, match: str | None) -> bool:
    loose = match == "major"
    return match is None or fits_variant(own, torch, loose=loose)


def _unseen_builds(knowledge: Knowledge, files: Sequence[PublishedWheel]) -> Iterator[MatrixNote]:
    seen = {
        (Version(wheel.release.base_version), platform, wheel.row["index"], wheel.file.variant)
        for wheel in files
        for platform in wheel.platforms
        if wheel.file.name == "torch"
    }
    unseen: dict[Version, list[TorchBuild]] = {}
    for build in knowledge.builds:
        variant = None if build.index == "pypi" else build.variant
        known = (build.torch, build.platform, build.index, variant) in seen or ".whl" in build.source
        if not known:
            unseen.setdefault(build.torch, []).append(build)
    for torch, builds in unseen.items():
        message = tr("no file was seen of its builds for {where}", where=_where(builds))
        yield MatrixNote("torch", str(torch), message, "unseen-build")


def _unseen_companions(knowledge: Knowledge, files: Sequence[PublishedWheel]) -> Iterator[MatrixNote]:
    shelf: dict[tuple[str, Version], list[PublishedWheel]] = {}
    for wheel in files:
        shelf.setdefault((str(wheel.file.name), wheel.release), []).append(wheel)
    builds: dict[Version, list[TorchBuild]] = {}
    for build in knowledge.builds:
        if build.evidence != "assumed":  # of those, no file of torch itself was seen
            builds.setdefault(build.torch, []).append(build)
    for torch, of_it in builds.items():
        for project, versions in knowledge.companions_of(torch).items():
            releases = [
                release for version in versions if (release := knowledge.companion_release(project, version))
            ]
            results = [
                (release, published_wheel)
                for release in releases
                for published_wheel in shelf.get((project, release.version), ())
            ]
            for_cpu = not any(release.architectures for release in releases)
            wanted = [build for build in of_it if for_cpu or build.cuda]
            without = [
                build for build in wanted if not any(_goes(*item, build, knowledge) for item in results)
            ]
            if without:
                message = tr("no wheel was seen for {where}", where=_where(without))
                yield MatrixNote("companions", f"pair {torch} {project}", message, "unseen-companion")


def _goes(release: CompanionRelease, wheel: PublishedWheel, build: TorchBuild, knowledge: Knowledge) -> bool:
    if build.platform not in wheel.platforms:
        return False
    if release.cuda_match is None or len(wheel.platforms) > 1:
        return True
    own = wheel.file.variant or pypi_variant(release.project, release.version, build.platform, knowledge)
    return own is not None and fits_variant(own, build.variant, loose=release.cuda_match == "major")


def _where(builds: Sequence[TorchBuild]) -> str:
    places: dict[str, dict[str, None]] = {}
    for build in builds:
        places.setdefault(build.platform, {})[str(build.variant)] = None
    return clauses(f"{series(variants)} ({platform})" for platform, variants in places.items())
