"""Where files come from: indexes, wheelhouses, and what a page of theirs listed."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from packaging.utils import NormalizedName

from gpuenv.model.access import ANYBODY, Access
from gpuenv.model.wheel import WheelFile

SourceKind = Literal["pypi", "pytorch", "flat", "directory", "snapshot", "conda"]


class IndexSource(Struct, frozen=True):
    """A place that lists wheels.

    `pypi`: a PEP 503 / 691 simple index whose files without a local version are PyPI's builds. `pytorch`: the
    PyTorch index or a copy of it, a PEP 503 index of all variants (`.../whl`) or of one (`.../whl/cu126`).
    `flat`: one page of links. `directory`: a local wheelhouse. `snapshot`: the listing shipped with gpuenv.
    `conda`: a conda channel, called `name`.
    `origin` says who named it, for messages; `maybe_flat` that the address was guessed to be a PEP 503 index
    and is read as one flat page when its project pages are missing. `missing_status` are HTTP
    statuses by which it says, besides 404, that it does not have something. `hosts` are those that its pages
    and files may lie on; where there are none, nobody knows them.
    """

    kind: SourceKind
    url: str  # without a trailing slash; a path for `directory`
    origin: str
    name: str | None = None
    maybe_flat: bool = False
    missing_status: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    public: bool = False  # everybody reads the same pages: they are kept though they ask not to be
    may_be_missing: bool = False  # a `flat` page that need not exist: then it lists nothing


class Listing(Struct, frozen=True):
    """What one source lists for one project.

    `problem` is why the page could not be read (then `files` is empty), `unparsed` are names of files on it
    that are no valid wheel or sdist names. A project that the index does not have is an empty listing
    without a problem. `page` is the address that was asked for; pip and uv take it as `--find-links`.
    `read_at` is the one that answered, where redirects lead elsewhere.
    """

    source: IndexSource
    project: NormalizedName
    files: tuple[WheelFile, ...]
    page: str
    problem: str | None = None
    unparsed: tuple[str, ...] = ()
    read_at: str | None = None


class IndexConfiguration(Struct, frozen=True):
    """What the user's pip and uv configuration names; each entry with its origin."""

    index_url: IndexSource | None  # None: the installer's own default
    extra_index_urls: tuple[IndexSource, ...]
    find_links: tuple[IndexSource, ...]
    no_index: bool = False
    access: Access = ANYBODY
    warnings: tuple[str, ...] = ()  # configuration that could not be read
    only_binary: bool = False  # by gpuenv's own option
    index_strategy: tuple[str, str] | None = None  # uv's own, and who says so
