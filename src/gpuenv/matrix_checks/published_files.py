"""The rows of the matrices against the files that indexes list (wheels.json): one function a check."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from gpuenv.i18n.messages import series, tr
from gpuenv.matrix_checks.keys import Complaints, Row, Rows, compares
from gpuenv.matrix_checks.refresh_targets import TORCH, platform_of, pythons_of
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import CUDA_PLATFORMS, Platform, WheelFile
from gpuenv.resolution.candidate import release_of

_BuildKey = tuple[Version, Platform, str, str]

_NAMED = re.compile(r"[\w.+-]+\.whl\b")
_DIGEST = re.compile(r"\bsha256 ([0-9a-f]{64})\b")


class PublishedWheel(Struct, frozen=True):
    """A row of wheels.json and its file; `platforms` are those of gpuenv's that it is for."""

    row: Row
    file: WheelFile
    platforms: tuple[Platform, ...]

    @property
    def release(self) -> Version:
        """Its version without the local part."""
        return release_of(self.file.version)


def listed_files(wheels: Rows) -> tuple[PublishedWheel, ...]:
    """Read the rows of wheels.json; the name of a file of PyPI's does not state its variant."""
    return tuple(_listed(row) for row in wheels)


def _listed(row: Row) -> PublishedWheel:
    file = _parse(row["filename"])
    local = file.version.local or row.get("subdir")
    if row["index"] == "pytorch" and local:
        file = WheelFile(file.name, file.version, file.tags, file.filename, "", Variant(local))
    platform = platform_of(file)
    everywhere = any(tag.platform == "any" for tag in file.tags)
    return PublishedWheel(row, file, CUDA_PLATFORMS if everywhere else (platform,) if platform else ())


def _parse(filename: str) -> WheelFile:
    name, version, _, tags = parse_wheel_filename(filename)
    return WheelFile(name, version, tags, filename, "", None)


@compares("wheels")
def _files_lie_where_they_belong(wheels: Rows) -> Complaints:
    for wheel in listed_files(wheels):
        local, folder = wheel.file.version.local, wheel.row.get("subdir")
        if wheel.file.name != canonicalize_name(wheel.row["project"]):
            yield wheel.row, tr("is not a file of {project}", project=wheel.row["project"])
        if local and wheel.row["index"] == "pypi":
            yield wheel.row, tr("PyPI takes no file with a local version")
        elif local and folder and local != folder:
            facts = {"local": local, "folder": folder}
            yield wheel.row, tr("its name says `{local}`, its folder `{folder}`", **facts)


@compares("wheels", "torch")
def _listed_builds_have_rows(wheels: Rows, torch: Rows) -> Complaints:
    known = {_key_of_row(row) for row in torch}
    reported: set[_BuildKey] = set()
    for wheel in listed_files(wheels):
        for key in _keys(wheel):
            if key not in known | reported:
                reported.add(key)
                yield wheel.row, tr("is listed, and torch.json has no row for its build")


@compares("torch", "wheels")
def _rows_have_the_pythons_listed(torch: Rows, wheels: Rows) -> Complaints:
    pythons: dict[_BuildKey, set[str]] = {}
    for wheel in listed_files(wheels):
        for key in _keys(wheel):
            pythons.setdefault(key, set()).update(pythons_of(wheel.file))
    for row in torch:
        missing = pythons.get(_key_of_row(row), set()) - set(row["pythons"])
        if missing:
            yield row, tr("wheels.json lists files for {pythons} too", pythons=series(sorted(missing)))


def _key_of_row(row: Row) -> _BuildKey:
    variant = "" if row["index"] == "pypi" else row["variant"]
    return Version(row["torch"]), row["platform"], row["index"], variant


def _keys(wheel: PublishedWheel) -> Iterator[_BuildKey]:
    """The builds of torch.json that a file is of; a post release is of the release that it mends."""
    known = wheel.file.variant is not None or wheel.row["index"] == "pypi"
    if wheel.file.name == TORCH and known:
        release = Version(wheel.release.base_version)
        for platform in wheel.platforms:
            yield release, platform, wheel.row["index"], str(wheel.file.variant or "")


@compares("torch")
def _sources_name_their_wheel(torch: Rows) -> Complaints:
    for row in torch:
        for filename in _NAMED.findall(row["source"]) if row["evidence"] == "wheel" else ():
            wrong = _difference(row, filename)
            if wrong:
                yield row, tr("its source is `{filename}`, {wrong}", filename=filename, wrong=wrong)


def _difference(row: Row, filename: str) -> str | None:
    try:
        file = _parse(filename)
    except InvalidWheelFilename:
        return tr("which is not a valid wheel name")
    if file.name != TORCH or file.version.base_version != Version(row["torch"]).base_version:
        return tr("another release")
    if file.version.local and file.version.local != row["variant"]:
        return tr("another variant")
    if platform_of(file) != row["platform"]:
        return tr("for another platform")
    if not pythons_of(file) & set(row["pythons"]):
        return tr("for a Python that the row does not have")
    return None


@compares("torch", "wheels")
def _digests_agree(torch: Rows, wheels: Rows) -> Complaints:
    known = {(row["filename"], row["index"]): row["sha256"] for row in wheels if "sha256" in row}
    for row in torch:
        digest = _DIGEST.search(row["source"])
        for filename in _NAMED.findall(row["source"]):
            listed = known.get((filename, row["index"]))
            if digest and listed and listed != digest[1] and row["index"] == "pypi":
                yield row, tr("wheels.json has another digest of `{filename}`", filename=filename)


@compares("torch", "wheels")
def _same_files_have_the_same_code(torch: Rows, wheels: Rows) -> Complaints:
    """A file that lies on PyPI and on the PyTorch index, known by its digest, is one build."""
    digests: dict[_BuildKey, set[str]] = {}
    for wheel in listed_files(wheels):
        for key in _keys(wheel):
            digests.setdefault(key, set()).update({wheel.row["sha256"]} if "sha256" in wheel.row else ())
    rows = {_key_of_row(row): row for row in torch}
    on_pypi = {(key[0], key[1]): (key, row) for key, row in rows.items() if row["index"] == "pypi"}
    for key, row in rows.items():
        other, twin = on_pypi.get((key[0], key[1]), (key, row))
        same = digests.get(key, set()) & digests.get(other, set())
        if same and twin is not row and set(row["architectures"]) != set(twin["architectures"]):
            listed = " ".join(twin["architectures"])
            yield row, tr("PyPI has the same file, which is compiled for {list}", list=listed)


@compares("companions", "wheels")
def _pairs_are_published(companions: Rows, wheels: Rows) -> Complaints:
    published = {(str(wheel.file.name), wheel.release) for wheel in listed_files(wheels) if wheel.platforms}
    for row in companions:
        if row["kind"] == "release" and _NAMED.search(row["source"]):
            published.add((row["project"], Version(row["version"])))
    for row in companions:
        for version in row.get("versions", ()) if row["kind"] == "pair" else ():
            if (row["project"], Version(version)) not in published:
                facts = {"project": row["project"], "version": version}
                yield row, tr("no wheel of {project} {version} is known", **facts)
