"""Where the files of a locked set lie: for formats that send a package to an index of its own."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urldefrag

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.model.locked import Locked, LockedFile
from gpuenv.model.plan import Sources
from gpuenv.secrets.url_credentials import without_userinfo

_REMOTE = ("http://", "https://")
_NO_WORD = re.compile(r"[^a-z0-9]+")


class FileOrigin(Struct, frozen=True):
    """A PEP 503 index, a folder on this machine, or a file's own address: no password is in it.

    A page of wheels has no name by which tools could be sent to it; so what lies there goes by its address.
    """

    kind: Literal["index", "folder", "file"]
    url: str

    @property
    def word(self) -> str:
        """Return a word for it: `download-example-com-whl-cu126`."""
        return _NO_WORD.sub("-", self.url.rpartition("://")[2].lower()).strip("-") or "wheels"


def place_of(file: LockedFile, sources: Sources) -> FileOrigin | None:
    """Return where `file` lies; None where the installer's own indexes list it."""
    pages = {page.rstrip("/") for page in sources.find_links}
    folder = file.url.rpartition("/")[0]
    index = (file.index or folder).rstrip("/")
    if not index.lower().startswith(_REMOTE):
        return FileOrigin("folder", index)
    if f"{index}/{file.name}" in pages:
        return FileOrigin("index", without_userinfo(index))
    if index in pages or folder in pages:
        return FileOrigin("file", without_userinfo(urldefrag(file.url).url))
    return None


def places_of(locked: Locked) -> dict[str, FileOrigin]:
    """Return by name where those files lie that the installer's own indexes do not list."""
    results = ((file.name, place_of(file, locked.sources)) for file in locked.files)
    requested = addressed(locked)
    return {name: origin for name, origin in results if origin is not None and name not in requested}


def addressed(locked: Locked) -> dict[str, str]:
    """Return by name the addresses of what was asked for by its address: `timm @ https://...`."""
    wanted = [Requirement(text) for text in locked.plan.requirements]
    return {
        canonicalize_name(requirement.name): without_userinfo(requirement.url)
        for requirement in wanted
        if requirement.url
    }
