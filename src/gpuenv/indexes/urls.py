"""URLs of indexes: classifying, splitting and joining them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from packaging.utils import NormalizedName

from gpuenv.indexes.wheel_files import is_variant
from gpuenv.model.index import IndexSource, SourceKind

Role = Literal["index", "find-links", "mirror"]

_REMOTE = re.compile(r"https?://", re.IGNORECASE)
PAGE_ENDINGS = (".html", ".htm")
_CHANNELS = ("nightly", "test")
_TORCH_FOLDER = "whl"


def is_remote(url: str) -> bool:
    """Whether a URL is read over HTTP; all others are paths or `file:` URLs."""
    return _REMOTE.match(url) is not None


def is_file_url(url: str) -> bool:
    """Whether this is a `file:` URL."""
    return url.strip().lower().startswith("file:")


def local_path(url: str) -> Path:
    """Convert a path or a `file:` URL to a path."""
    if not is_file_url(url):
        return Path(url)
    parts = urlsplit(url)
    host = f"//{parts.netloc}" if parts.netloc not in ("", "localhost") else ""
    from urllib.request import url2pathname  # noqa: PLC0415 - brings http.client and email along

    return Path(url2pathname(host + parts.path))


def project_page(url: str, project: NormalizedName) -> str:
    """Return the URL of a project's page on a PEP 503 index; a query (a token) stays at the end."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{project}/", fragment=""))


def guess_source(url: str, origin: str, *, role: Role = "index", name: str | None = None) -> IndexSource:
    """Classify a URL: a path or `file:` URL is a directory, find-links and `.html` are one flat page.

    All others are PEP 503 indexes; a `mirror` may turn out to be a flat page: its project pages are missing.
    """
    url = url.strip()
    if not is_remote(url):
        return IndexSource("directory", str(local_path(url)), origin, name)
    if role == "find-links":  # as it was given: not every server leads from a folder's name to its page
        return IndexSource("flat", url, origin, name)
    url = url.rstrip("/")
    if urlsplit(url).path.lower().endswith(PAGE_ENDINGS):
        return IndexSource("flat", url, origin, name)
    return IndexSource(_index_kind(url), url, origin, name, maybe_flat=role == "mirror")


def _index_kind(url: str) -> SourceKind:
    """`…/whl`, `…/whl/cu126`, `…/whl/nightly/cpu` and any folder named after a variant: the PyTorch index."""
    folders = [folder for folder in urlsplit(url).path.split("/") if folder]
    last = folders[-1] if folders else ""
    if is_variant(last) or last == _TORCH_FOLDER or (last in _CHANNELS and _TORCH_FOLDER in folders):
        return "pytorch"
    return "pypi"
