"""Reads from a wheel, a few small members and part of a library, what the core makes facts of."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from gpuenv.http import HttpClient, HttpProblem, fetch_page
from gpuenv.http.ranges import ByteRanges
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.matrix.dependency_rows import Sizes, sizes_of
from gpuenv.matrix_checks.refresh_targets import TORCH, WheelTarget, platform_of, pythons_of
from gpuenv.model.capability import Architecture
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import WheelFile
from gpuenv.planning.load_knowledge import load_accelerators
from gpuenv.untrusted.bounds import check_wheel_name
from gpuenv.wheels.archive import WheelArchive, WheelProblem, open_local_wheel, open_wheel
from gpuenv.wheels.cuda_architectures import CodeFinder, Finder, FlagFinder
from gpuenv.wheels.device_targets import BundleFinder, TargetList
from gpuenv.wheels.metadata import (
    VersionFile,
    WheelFacts,
    WheelMetadata,
    parse_metadata,
    parse_version_file,
    parse_wheel_tags,
    targets_of_extras,
)

_T = TypeVar("_T")
_WITH_TARGETS = ("rocm", "xpu")
_SMALL = 4 << 20  # bytes; a METADATA has 40 kB
_LIBRARY = 1 << 30
_LONGEST_LIBRARY = 4 << 30
# where the list stands in all wheels from 1.6 to 2.15: after 50 to 75 % of the member
_BEFORE_FLAGS = 0.45
_FLAGS = re.compile(r"torch/lib/(?:libtorch_python\.so|torch_python\.dll)")
_KERNELS = re.compile(r"torch/lib/[\w.-]+\.(?:so|dll)")


def read_wheel(archive: WheelArchive, file: WheelFile, *, thorough: bool = False) -> WheelFacts:
    """Read what a wheel of torch or of a companion tells; what it does not is in `missing`.

    With `thorough`, a torch wheel without a list of architectures is read up to the kernels themselves, which
    are tens of megabytes in. Raises WheelProblem, and HttpProblem or OSError of the server or disk.
    """
    project = str(file.name)
    metadata, remarks = read_metadata(archive)
    version_file, missing = _read_version(archive, project)
    if project != TORCH:  # what it goes with stands in its METADATA alone
        missing, remarks = (*missing, *remarks), ()
    architectures: tuple[Architecture, ...] = ()
    if project == TORCH and (version_file is None or version_file.cuda):
        architectures, why = _read_architectures(archive, thorough=thorough)
        missing += why
    variant = version_file.variant if version_file else None
    targets: tuple[str, ...] = ()
    if project == TORCH and variant and variant.kind in _WITH_TARGETS:
        targets, why = _read_targets(archive, variant, metadata, thorough=thorough)
        missing += why
    return replace(
        facts_of_name(file, metadata),
        variant=variant,
        architectures=architectures,
        targets=targets,
        wheel_tags=_read_tags(archive),
        missing=missing,
        remarks=remarks,
    )


def facts_of_name(file: WheelFile, metadata: WheelMetadata | None) -> WheelFacts:
    """Return what the name of a wheel tells, with its metadata where they are known."""
    return WheelFacts(
        filename=file.filename,
        metadata=metadata or metadata_of_name(file),
        version=Version(file.version.public),
        variant=None,
        pythons=tuple(sorted(pythons_of(file))),
        tags=(file.filename.removesuffix(".whl").rpartition("-")[2],),
        platform=platform_of(file),
    )


def metadata_of_name(file: WheelFile) -> WheelMetadata:
    """Return the metadata of a wheel that has none, as far as its name and its index tell."""
    return WheelMetadata(str(file.name), Version(file.version.public), (), file.requires_python)


def parse_wheel_name(filename: str, url: str) -> WheelFile:
    """Read a wheel's name; raise ValueError for one that is none."""
    name, version, _, tags = parse_wheel_filename(check_wheel_name(filename))
    return WheelFile(canonicalize_name(name), version, tags, filename, url, None)


def read_metadata(archive: WheelArchive) -> tuple[WheelMetadata | None, tuple[str, ...]]:
    """Read a wheel's METADATA, and what is odd about it; None where it can't be read."""
    member = archive.find(lambda name: name.endswith(".dist-info/METADATA") and name.count("/") == 1)
    if member is None:
        return None, (tr("it has no `{member}`", member="METADATA"),)
    try:
        return parse_metadata(_text(archive, member)), ()
    except ValueError as error:
        return None, (tr("its `{member}` {problem}", member=member, problem=error),)


def _read_tags(archive: WheelArchive) -> tuple[str, ...]:
    member = archive.find(lambda name: name.endswith(".dist-info/WHEEL") and name.count("/") == 1)
    return parse_wheel_tags(_text(archive, member)) if member else ()


def _read_version(archive: WheelArchive, project: str) -> tuple[VersionFile | None, tuple[str, ...]]:
    wanted = f"{project}/version.py"
    member = archive.find(lambda name: name == wanted)
    if member is None:
        return None, (tr("it has no `{member}`", member=wanted),)
    try:
        return parse_version_file(_text(archive, member)), ()
    except ValueError as error:
        return None, (tr("its `{member}` {problem}", member=wanted, problem=error),)


def _read_architectures(
    archive: WheelArchive, *, thorough: bool
) -> tuple[tuple[Architecture, ...], tuple[str, ...]]:
    member = archive.find(lambda name: _FLAGS.fullmatch(name) is not None)
    architectures = _search(archive, member, FlagFinder(), _LIBRARY, _BEFORE_FLAGS) if member else None
    if architectures:
        return architectures, ()
    if thorough:
        library = archive.largest(lambda name: _KERNELS.fullmatch(name) is not None)
        architectures = _search(archive, library, CodeFinder(), _LONGEST_LIBRARY, 0.0) if library else None
        if architectures:
            return architectures, ()
    if member is None:
        return (), (tr("it has no `{member}`", member="torch/lib/libtorch_python"),)
    return (), (tr("its `{member}` does not list architectures", member=member),)


def _read_targets(
    archive: WheelArchive, variant: Variant, metadata: WheelMetadata | None, *, thorough: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read for which chips a build for ROCm or XPU has code: extras, torch's own list, or kernels."""
    if metadata and (by_extras := targets_of_extras(metadata)):
        return by_extras, ()
    member = archive.find(lambda name: _FLAGS.fullmatch(name) is not None)
    if member is None:
        return (), (tr("it has no `{member}`", member="torch/lib/libtorch_python"),)
    listed = TargetList(known_targets("xpu") if variant.kind == "xpu" else ())
    targets = _search(archive, member, listed, _LIBRARY, _BEFORE_FLAGS)
    if not targets and thorough and variant.kind == "rocm":
        library = archive.largest(lambda name: _KERNELS.fullmatch(name) is not None)
        targets = _search(archive, library, BundleFinder(), _LONGEST_LIBRARY, 0.0) if library else None
    if targets:
        return targets, ()
    return (), (tr("its `{member}` does not list architectures", member=member),)


def known_targets(kind: str) -> frozenset[str]:
    """Return the targets of a kind that some architecture runs code of."""
    rows = load_accelerators().architectures.values()
    return frozenset(name for row in rows if row.kind == kind for name in row.code)


def _search(archive: WheelArchive, member: str, finder: Finder[_T], limit: int, first: float) -> _T | None:
    for chunk in archive.stream(member, limit=limit, first=first):
        found = finder.feed(chunk)
        if found:
            return found
    return finder.finish()


def _text(archive: WheelArchive, member: str) -> str:
    return archive.read(member, limit=_SMALL).decode("utf-8", errors="replace")


class WheelAnswer(Struct, frozen=True):
    """What a wheel says, and how much was received for it."""

    facts: WheelFacts
    received: int
    sizes: Sizes | None = None


def reading(target: WheelTarget, client: HttpClient, *, thorough: bool) -> Callable[[], WheelAnswer]:
    """Return the work of reading one wheel; it raises HttpProblem."""

    def work() -> WheelAnswer:
        url = target.file.url
        ranges = ByteRanges(client, url, length=target.file.size) if is_remote(url) else None
        sizes = None
        try:
            with open_wheel(ranges) if ranges else open_local_wheel(local_path(url)) as archive:
                facts = read_wheel(archive, target.file, thorough=thorough)
                sizes = sizes_of(archive) if target.project == TORCH else None
        except WheelProblem as problem:
            facts = replace(
                facts_of_name(target.file, _metadata_beside(url, client)),
                missing=(tr("the wheel {reason}", reason=problem.reason),),
            )
        except OSError as error:
            raise HttpProblem(reason_of(error)) from None
        return WheelAnswer(facts, ranges.received if ranges else 0, sizes)

    return work


def _metadata_beside(url: str, client: HttpClient) -> WheelMetadata | None:
    """Read the METADATA that an index may have beside the wheel (PEP 658)."""
    try:
        return parse_metadata(fetch_page(client, f"{url}.metadata", "*/*").text) if is_remote(url) else None
    except (HttpProblem, ValueError):
        return None
