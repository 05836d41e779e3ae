"""The listing of known files that is shipped with gpuenv, for use without any index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import Link
from gpuenv.indexes.urls import project_page
from gpuenv.indexes.wheel_files import parse_wheel_link
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, Platform, TorchBuild, WheelFile

_TORCH = canonicalize_name("torch")
_TAG_ENDINGS: dict[Platform, tuple[str, str]] = {
    "linux-64": ("linux", "_x86_64"),
    "linux-aarch64": ("linux", "_aarch64"),
    "win-64": ("win", "_amd64"),
}
_Row = Mapping[str, Any]
_Release = tuple[NormalizedName, Version]


@dataclass(frozen=True, slots=True)
class Bases:
    """The URLs of the two kinds of index."""

    pytorch: str
    pypi: str


@dataclass(frozen=True, slots=True)
class Pairing:
    """A companion's version that goes with a torch release, as the release matrix says."""

    torch: Version
    project: NormalizedName
    version: Version


def read_snapshot(
    rows: Iterable[_Row],
    builds: Iterable[TorchBuild],
    pairings: Iterable[Pairing],
    projects: tuple[NormalizedName, ...],
    bases: Bases,
) -> tuple[Listing, ...]:
    """Return a listing of the known files for each kind of index and project.

    `rows` are those of matrices/wheels.json. Where they lack a variant, the files of `builds` whose evidence
    is `assumed`, and of their companions by `pairings`, are named like known ones: the companions of a
    release were always published for each of its variants. Invalid wheel names are in `unparsed`.
    """
    grouped: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    for row in rows:
        grouped[row["index"], row["project"]].append(row)
    seen = {
        kind: [_listing(grouped[kind, project], kind, project, bases) for project in projects]
        for kind in _KINDS
    }
    own = [build for build in builds if build.index == "pytorch"]
    names = _assumed_names(own, tuple(pairings), [*seen["pytorch"], *seen["pypi"]])
    pytorch = [_extended(listing, names[listing.project], bases) for listing in seen["pytorch"]]
    return (*pytorch, *seen["pypi"])


_KINDS: tuple[IndexKind, ...] = ("pytorch", "pypi")


def _listing(rows: list[_Row], kind: IndexKind, project: NormalizedName, bases: Bases) -> Listing:
    index = bases.pytorch if kind == "pytorch" else bases.pypi
    source = IndexSource("snapshot", index.rstrip("/"), tr("the listing shipped with gpuenv"), kind)
    page = project_page(index, project)
    read = [_file(row, page, bases) for row in rows]
    files = tuple(file for file in read if isinstance(file, WheelFile))
    unparsed = tuple(name for name in read if isinstance(name, str))
    return Listing(source, project, files, page, unparsed=unparsed)


def _file(row: _Row, page: str, bases: Bases) -> WheelFile | str:
    """Read `{"filename": …, "index": "pytorch", "subdir": "cu126"}`; return the name if it is invalid."""
    filename = row["filename"]
    link = Link(
        url=_join(bases.pytorch, row.get("subdir"), filename) if row["index"] == "pytorch" else "",
        filename=filename,
        sha256=row.get("sha256"),
        requires_python=row.get("requires_python"),
        yanked=bool(row.get("yanked")),
    )
    try:
        return parse_wheel_link(link, page)
    except ValueError:
        return str(filename)


def _join(base: str, folder: str | None, filename: str) -> str:
    return "/".join(part for part in (base.rstrip("/"), folder, quote(filename)) if part)


def _assumed_names(
    builds: list[TorchBuild], pairings: tuple[Pairing, ...], seen: list[Listing]
) -> dict[NormalizedName, dict[str, Variant]]:
    """Return the names that files of the builds and their companions must have, with their variants."""
    known: dict[_Release, list[WheelFile]] = defaultdict(list)
    for listing in seen:
        for file in listing.files:
            known[listing.project, Version(file.version.public)].append(file)
    paired: dict[Version, list[Pairing]] = defaultdict(list)
    for pairing in pairings:
        paired[pairing.torch].append(pairing)
    names: dict[NormalizedName, dict[str, Variant]] = defaultdict(dict)
    for build in builds:
        if build.evidence == "assumed":
            names[_TORCH] |= dict.fromkeys(_names_of_torch(build), build.variant)
        for pairing in paired[build.torch]:
            files = known[pairing.project, pairing.version]
            names[pairing.project] |= dict.fromkeys(_names_of_companion(pairing, build, files), build.variant)
    return names


def _names_of_torch(build: TorchBuild) -> Iterator[str]:
    for python in build.pythons:
        for tag in build.tags:
            yield f"torch-{build.torch}+{build.variant}-{python.rstrip('t')}-{python}-{tag}.whl"


def _names_of_companion(pairing: Pairing, build: TorchBuild, files: list[WheelFile]) -> Iterator[str]:
    """Yield names with the tags of the release's other files, unless the variant is known."""
    fitting = [file for file in files if _is_for(file, build.platform)]
    if any(file.variant == build.variant for file in fitting):
        return
    prefix = f"{pairing.project}-{pairing.version}+{build.variant}"
    for file in fitting:
        tags = file.filename.removesuffix(".whl").split("-")[-3:]
        yield "-".join((prefix, *tags)) + ".whl"


def _is_for(file: WheelFile, platform: Platform) -> bool:
    start, end = _TAG_ENDINGS[platform]
    return any(start in tag.platform and tag.platform.endswith(end) for tag in file.tags)


def _extended(listing: Listing, names: dict[str, Variant], bases: Bases) -> Listing:
    known = {file.filename for file in listing.files}
    links = (
        Link(_join(bases.pytorch, str(variant), name), name)
        for name, variant in names.items()
        if name not in known
    )
    assumed = (replace(parse_wheel_link(link, listing.page), assumed=True) for link in links)
    return replace(listing, files=(*listing.files, *assumed))
