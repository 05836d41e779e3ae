"""The listing of known files that is shipped with gpuenv, for use without any index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.indexes.urls import project_page
from gpuenv.indexes.wheel_files import is_variant, parse_name
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, Platform, TorchBuild, WheelFile

_TORCH = canonicalize_name("torch")
_PYTHON_3_8 = 38  # as in `cp38`; `cp310` and newer are larger
_TAG_ENDINGS: dict[Platform, tuple[str, str]] = {
    "linux-64": ("linux", "_x86_64"),
    "linux-aarch64": ("linux", "_aarch64"),
    "win-64": ("win", "_amd64"),
    "osx-arm64": ("macosx", "_arm64"),
    "osx-64": ("macosx", "_x86_64"),
}
_Row = Mapping[str, Any]
_Release = tuple[NormalizedName, Version, Platform]


class Bases(Struct, frozen=True):
    """The URLs of the two kinds of index."""

    pytorch: str
    pypi: str


class Pairing(Struct, frozen=True):
    """A companion's version that goes with a torch release, as the release matrix says."""

    torch: Version
    project: NormalizedName
    version: Version


class _KnownRelease(Struct):
    variants: set[Variant | None] = field(default_factory=set)
    tags: dict[str, None] = field(default_factory=dict)  # in the order of the files
    pythons: dict[Variant | None, set[str]] = field(default_factory=lambda: defaultdict(set))


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
    release were always published for each of its variants. So are the files for Pythons that a build has,
    where those of others alone were seen. Invalid wheel names are in `unparsed`.
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
    read = [_file(row, bases) for row in rows]
    files = tuple(file for file in read if isinstance(file, WheelFile))
    unparsed = tuple(name for name in read if isinstance(name, str))
    return Listing(source, project, files, project_page(index, project), unparsed=unparsed)


def _file(row: _Row, bases: Bases) -> WheelFile | str:
    """Read `{"filename": …, "index": "pytorch", "subdir": "cu126"}`; return the name if it is invalid."""
    filename = row["filename"]
    try:
        name = parse_name(filename)
    except ValueError:
        return str(filename)
    folder = row.get("subdir")
    in_folder = Variant(folder) if folder and not name.is_variant and is_variant(folder) else None
    return WheelFile(
        name.project,
        name.version,
        name.tags,
        filename,
        _join(bases.pytorch, folder, filename) if row["index"] == "pytorch" else "",
        in_folder or name.local,
        row.get("sha256"),
        None,
        row.get("requires_python"),
        bool(row.get("yanked")),
    )


def _join(base: str, folder: str | None, filename: str) -> str:
    quoted = filename.replace("+", "%2B").replace("!", "%21")  # of a wheel's name nothing else is quoted
    return f"{base.rstrip('/')}/{folder}/{quoted}" if folder else f"{base.rstrip('/')}/{quoted}"


def _assumed_names(
    builds: list[TorchBuild], pairings: tuple[Pairing, ...], seen: list[Listing]
) -> dict[NormalizedName, dict[str, Variant]]:
    """Return the names that files of the builds and their companions must have, with their variants."""
    known = _by_release(seen)
    paired: dict[Version, list[Pairing]] = defaultdict(list)
    for pairing in pairings:
        paired[pairing.torch].append(pairing)
    names: dict[NormalizedName, dict[str, Variant]] = defaultdict(dict)
    for build in builds:
        seen_for = known[_TORCH, build.torch, build.platform].pythons[build.variant]
        if build.evidence == "assumed" or (seen_for and not seen_for.issuperset(build.pythons)):
            names[_TORCH] |= dict.fromkeys(_names_of_torch(build, seen_for), build.variant)
        for pairing in paired[build.torch]:
            release = known[pairing.project, pairing.version, build.platform]
            names[pairing.project] |= dict.fromkeys(
                _names_of_companion(pairing, build, release), build.variant
            )
    return names


def _by_release(seen: list[Listing]) -> Mapping[_Release, _KnownRelease]:
    """Return the variants that were seen of each release for each platform, and the tags of its files."""
    known: dict[_Release, _KnownRelease] = defaultdict(_KnownRelease)
    versions: dict[str, Version] = {}
    platforms: dict[str, tuple[Platform, ...]] = {}
    for listing in seen:
        releases: dict[tuple[str, tuple[Platform, ...]], list[_KnownRelease]] = {}
        for file in listing.files:
            head, *parts = file.filename.removesuffix(".whl").rsplit("-", 3)
            tags = "-".join(parts)
            if tags not in platforms:
                platforms[tags] = tuple(platform for platform in _TAG_ENDINGS if _is_for(file, platform))
            key = head, platforms[tags]
            if key not in releases:
                version = versions.get(head) or versions.setdefault(head, Version(file.version.public))
                releases[key] = [known[listing.project, version, platform] for platform in platforms[tags]]
            for release in releases[key]:
                release.variants.add(file.variant)
                release.tags[tags] = None
                release.pythons[file.variant].update(parts[:2])
    return known


def _names_of_torch(build: TorchBuild, seen_for: set[str]) -> Iterator[str]:
    """Yield names for the Pythons that no file was seen for, from 3.8 on: older ones have other ABI tags."""
    for python in build.pythons:
        named = python not in seen_for and int(python.removeprefix("cp").rstrip("t")) >= _PYTHON_3_8
        for tag in build.tags if named else ():
            yield f"torch-{build.torch}+{build.variant}-{python.rstrip('t')}-{python}-{tag}.whl"


def _names_of_companion(pairing: Pairing, build: TorchBuild, release: _KnownRelease) -> Iterator[str]:
    """Yield names with the tags of the release's other files, unless the variant is known."""
    if build.variant not in release.variants:
        for tags in release.tags:
            yield f"{pairing.project}-{pairing.version}+{build.variant}-{tags}.whl"


def _is_for(file: WheelFile, platform: Platform) -> bool:
    start, end = _TAG_ENDINGS[platform]
    return any(start in tag.platform and tag.platform.endswith(end) for tag in file.tags)


def _extended(listing: Listing, names: dict[str, Variant], bases: Bases) -> Listing:
    known = {file.filename for file in listing.files}
    assumed = (
        _assumed(filename, str(variant), bases)
        for filename, variant in names.items()
        if filename not in known
    )
    return replace(listing, files=(*listing.files, *assumed))


def _assumed(filename: str, folder: str, bases: Bases) -> WheelFile:
    name = parse_name(filename)
    url = _join(bases.pytorch, folder, filename)
    return WheelFile(name.project, name.version, name.tags, filename, url, name.local, assumed=True)
