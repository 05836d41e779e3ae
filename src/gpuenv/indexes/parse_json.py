"""Project pages in JSON, as PEP 691 has them.

{"meta": {"api-version": "1.1"}, "name": "torch", "files": [
  {"filename": "torch-2.15.0-cp312-cp312-win_amd64.whl", "url": "../../packages/…/torch-2.15.0-….whl",
   "hashes": {"sha256": "72b7…"}, "requires-python": ">=3.10", "size": 127024483, "yanked": false}]}
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urldefrag, urljoin

from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import (
    Link,
    LinkPage,
    check_links,
    leads_inside,
    parse_day,
    parse_hashes,
    plain_address,
)
from gpuenv.untrusted.documents import load_json

_API_MAJOR = "1"


def parse_json(text: str, url: str) -> LinkPage:
    """Read the links of a PEP 691 page at `url`; raise ValueError.

    https://packaging.python.org/en/latest/specifications/simple-repository-api/
    """
    try:
        page = load_json(text)
    except ValueError:
        raise ValueError(tr("the page is not valid JSON")) from None
    files = _files(page if isinstance(page, dict) else {})
    links = [_link(file, url) for file in files]
    garbled = (_shown(file) for file, link in zip(files, links, strict=True) if link is None)
    kept = tuple(link for link in links if link and not leads_inside(link.url, url))
    return LinkPage(kept, is_index=True, garbled=tuple(garbled))


def _files(page: dict[str, Any]) -> list[Any]:
    meta, files = page.get("meta"), page.get("files")
    version = meta.get("api-version") if isinstance(meta, dict) else None
    if not isinstance(version, str) or version.partition(".")[0] != _API_MAJOR:
        raise ValueError(tr("the page is not a simple index of a known version"))
    if not isinstance(files, list):
        raise ValueError(tr("the page has no list of files"))
    check_links(len(files))
    return files


def _link(file: Any, base: str) -> Link | None:
    try:
        filename, url = file["filename"], _absolute(file["url"], base)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    if not isinstance(filename, str):
        return None
    size, requires = file.get("size"), file.get("requires-python")
    return Link(
        url=url,
        filename=filename,
        sha256=parse_hashes(file.get("hashes")),
        size=size if type(size) is int and size >= 0 else None,
        requires_python=requires if isinstance(requires, str) and requires else None,
        yanked=file.get("yanked") not in (None, False),
        uploaded=parse_day(file.get("upload-time")),
        has_metadata=_has_metadata(file),
    )


def _has_metadata(file: dict[str, Any]) -> bool:
    """Whether the METADATA lies beside it; `core-metadata` was called `dist-info-metadata` (PEP 714)."""
    return bool(file.get("core-metadata", file.get("dist-info-metadata")))


def _absolute(url: str, base: str) -> str:
    """Return the address without its fragment."""
    return plain_address(url) or urldefrag(urljoin(base, url)).url


def _shown(file: Any) -> str:
    return str(file.get("filename", file) if isinstance(file, dict) else file)[:200]
