"""Local wheelhouses: directories of wheels, PEP 503 trees on disk, pages of links in a file."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from gpuenv.files.read_limited import read_limited
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import Link
from gpuenv.indexes.parse_html import parse_html
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.indexes.wheel_files import is_named_for, is_variant, select_wheels
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.wheel import WheelFile
from gpuenv.wheels.known_variants import KnownVariants

_TORCH = canonicalize_name("torch")
_LARGEST_PAGE = 64 << 20


def read_wheelhouse(
    source: IndexSource, projects: tuple[NormalizedName, ...], cache: Path
) -> tuple[Listing, ...]:
    """List the projects' wheels in a directory; sizes come from the disk, hashes only from a page."""
    variants = KnownVariants(cache)
    return tuple(_read(source, project, variants) for project in projects)


def _read(source: IndexSource, project: NormalizedName, variants: KnownVariants) -> Listing:
    root = local_path(source.url).absolute()
    try:
        path = _place_of(root, project)
        links = _links_at(path, project)
    except (OSError, ValueError) as error:
        return Listing(source, project, (), str(root), problem=_reason(error))
    result = select_wheels(links, project, path.as_uri())
    read = [_with_variant(file, variants) for file in result.files]
    files = tuple(file for file in read if isinstance(file, WheelFile))
    unparsed = (*result.unparsed, *(name for name in read if isinstance(name, str)))
    return Listing(source, project, files, str(path), unparsed=unparsed)


def _place_of(root: Path, project: NormalizedName) -> Path:
    """Return the directory or page that lists a project: `ROOT`, `ROOT/torch/` or `ROOT/simple/torch/`."""
    if root.is_file() or select_wheels(_links_at(root, project), project, root.as_uri()).files:
        return root
    for folder in (root / project, root / "simple" / project):
        page = folder / "index.html"
        if page.is_file():
            return page
        if folder.is_dir():
            return folder
    return root


def _links_at(file: Path, project: NormalizedName) -> tuple[Link, ...]:
    if file.is_dir() or not file.exists():
        names = (name for name in os.listdir(file) if name.endswith(".whl"))  # noqa: PTH208 - few are used
        wheels = (file / name for name in sorted(names) if is_named_for(name, project))
        return tuple(
            Link(path.as_uri(), path.name, size=path.stat().st_size) for path in wheels if path.is_file()
        )
    page = parse_html(read_limited(file, _LARGEST_PAGE).decode("utf-8", errors="replace"), file.as_uri())
    return tuple(_sized(link) for link in page.links)


def _sized(link: Link) -> Link:
    if is_remote(link.url):
        return link
    try:
        return replace(link, size=local_path(link.url).stat().st_size)
    except OSError:
        return link


def _with_variant(file: WheelFile, variants: KnownVariants) -> WheelFile | str:
    """Read a torch wheel's variant from its content where its name has none; return a text on failure."""
    if file.name != _TORCH or is_remote(file.url) or is_variant(file.version.local or ""):
        return file
    try:
        return replace(file, variant=variants.read(local_path(file.url)))
    except (OSError, ValueError) as error:
        return f"{file.filename} ({_reason(error)})"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return tr("does not exist")
    if isinstance(error, PermissionError):
        return tr("may not be read")
    return reason_of(error)
