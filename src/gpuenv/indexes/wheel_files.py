"""Links to wheels, and which variant each is a build for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import Link
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import WheelFile
from gpuenv.untrusted.bounds import check_wheel_name

_PLAIN_NAME = re.compile(r"[A-Za-z0-9._+!-]+\.whl")
_PLAIN_PROJECT = re.compile(r"[A-Za-z0-9._]+")
_VARIANT_NAME = re.compile(r"(?:cu\d{2,3}|cpu|rocm\d[\d.]*|xpu)(?:[-_.]\w[\w.-]*)?$")


class ProjectFiles(Struct, frozen=True):
    """The wheels of one project among some links, and the names that are not valid wheel names."""

    files: tuple[WheelFile, ...]
    unparsed: tuple[str, ...]


def select_wheels(links: Iterable[Link], project: NormalizedName, page: str) -> ProjectFiles:
    """Return the project's wheels; all other links are ignored."""
    files, unparsed = [], []
    for link in links:
        if link.filename.endswith(".whl") and is_named_for(link.filename, project):
            try:
                files.append(parse_wheel_link(link, page))
            except ValueError:
                unparsed.append(link.filename)
    return ProjectFiles(tuple(files), tuple(unparsed))


def is_named_for(filename: str, project: NormalizedName) -> bool:
    """Whether a wheel's name begins with that of a project."""
    return _as_project(filename.partition("-")[0]) == project


class WheelName(Struct, frozen=True):
    """What a wheel's name says; `local` is the version's local part, which may be a variant or a commit."""

    project: NormalizedName
    version: Version
    tags: frozenset[Tag]
    local: Variant | None
    is_variant: bool


def parse_name(filename: str) -> WheelName:
    """Read the name of a wheel; raise ValueError."""
    if not _PLAIN_NAME.fullmatch(check_wheel_name(filename)):
        raise InvalidWheelFilename(tr("`{filename}` is not a valid wheel name", filename=filename))
    # name and tags apart, as a page repeats each of them dozens of times
    head, *tag_parts = filename.removesuffix(".whl").rsplit("-", 3)
    name, version, variant, is_named = parse_head(head)
    return WheelName(name, version, parse_tags("-".join(tag_parts)), variant, is_named)


def parse_wheel_link(link: Link, page: str) -> WheelFile:
    """Read a wheel's name, and its variant from its name or the URLs of file and page; raise ValueError."""
    name = parse_name(link.filename)
    variant = name.local
    if not name.is_variant:  # a commit is no variant, but not PyPI's build either
        variant = variant_of_place(link.url, page) or variant
    return WheelFile(
        name=name.project,
        version=name.version,
        tags=name.tags,
        filename=link.filename,
        url=_spelt(link.url),
        variant=variant,
        sha256=link.sha256,
        size=link.size,
        requires_python=link.requires_python,
        yanked=link.yanked,
        uploaded=link.uploaded,
        has_metadata=link.has_metadata,
    )


def _spelt(url: str) -> str:
    """Encode the `+` of a URL's path as `%2B`: some servers read a plain one as a blank."""
    if "+" not in url or not url.startswith("http"):
        return url
    path, question, query = url.partition("?")
    return path.replace("+", "%2B") + question + query


@cache
def parse_head(head: str) -> tuple[NormalizedName, Version, Variant | None, bool]:
    """Return the name and version of `torch-2.14.1+cu126`, its local part, whether that names a variant."""
    project, _, release = head.partition("-")
    if _PLAIN_PROJECT.fullmatch(project) and "__" not in project and "-" not in release:
        name, version = _as_project(project), Version(release)
    else:
        name, version, _, _ = parse_wheel_filename(f"{head}-py3-none-any.whl")
    local = version.local
    return name, version, Variant(local) if local else None, local is not None and is_variant(local)


@cache
def parse_tags(tags: str) -> frozenset[Tag]:
    """Return the tags of `cp312-cp312-win_amd64`; raise ValueError."""
    return parse_wheel_filename(f"any-1-{tags}.whl")[3]


def variant_of_place(url: str, page: str) -> Variant | None:
    """Read the variant from a file's folder (`/whl/cu101/torch-1.4.0-….whl`), else from its page's."""
    for path in (_folders(url.rpartition("/")[0])[-1:], _folders(page.rpartition("/")[0])[-2:]):
        for folder in reversed(path):
            if is_variant(folder):
                return Variant(folder)
    return None


def is_variant(name: str) -> bool:
    """Whether a folder or local version names a variant: `cu126`, `cpu`, `cu121_full`, `rocm6.3`."""
    return _VARIANT_NAME.match(name) is not None


@cache
def _folders(location: str) -> tuple[str, ...]:
    """Return the folders of a URL: whl, cu126 and torch of `https://…/whl/cu126/torch`."""
    return tuple(unquote(part) for part in urlsplit(location).path.split("/") if part)


@cache
def _as_project(name: str) -> NormalizedName:
    return canonicalize_name(name)
