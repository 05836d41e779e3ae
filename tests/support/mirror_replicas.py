"""A network of replicas in 127.0.0.0/8: the official indexes and mirrors, each in its own layout.

    official 127.0.0.1   /whl[/cu126]/torch/      links on 127.0.0.2 (download-r2); 403 for what is missing
    pypi     127.0.0.3   /simple/torch/           links on 127.0.0.4
    tuna     127.0.0.5   /pypi/web/simple/torch/  ../../packages; no torch wheels; /pypi/simple is wrong
    sjtu     127.0.0.6   /pytorch-wheels[/cu126]/torch/  JSON too; wheels lie on 127.0.0.7
    nju      127.0.0.8   /pytorch/whl/cu126/torch/       one folder a variant, no page of all
    aliyun   127.0.0.9   /pytorch-wheels/cu126/          flat, `&#43;`, no digests
    cernet   127.0.0.10  sends to nju and tuna
    huawei   127.0.0.11  200 and a page of text for what is missing
    nvidia   127.0.0.12  what the dependency pages of torch's indexes link to
    elsewhere 127.0.0.13 torch_stable.html, Apache's folders

Their names are those of the mirrors they stand for: `Network.configuration` tells gpuenv their addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote

from replica_pages import (
    JSON,
    Held,
    Shelf,
    anchor_page,
    autoindex_page,
    json_page,
    stable_page,
    store_page,
)
from replica_server import FORBIDDEN, NOT_HERE, Answer, Asked, Replica, redirect

_LAST_STABLE = 121  # of CUDA, that torch_stable.html lists
_FOREIGN = "nvidia-"


def _file(held: Held | None, missing: Answer = NOT_HERE) -> Answer:
    if held is None:
        return missing
    size = None if held.content is not None else held.size
    return Answer(held.content or b"", "application/zip", size=size, is_file=True)


def _metadata(held: Held | None) -> Answer:
    return NOT_HERE if held is None else Answer(held.metadata, "text/plain")


def _file_or_metadata(find: Callable[[str], Held | None], path: str, missing: Answer = NOT_HERE) -> Answer:
    if path.endswith(".metadata"):
        return _metadata(find(path.removesuffix(".metadata")))
    return _file(find(path), missing)


@dataclass
class Site:
    """A replica and what it holds; switches that more than one layout has."""

    replica: Replica
    shelf: Shelf
    leaks_to: Replica | None = None  # whose files its pages link to
    metadata: bool = True  # whether its pages announce PEP 658's
    json: bool = True
    pages: dict[tuple[str, ...], tuple[tuple[object, ...], bytes]] = field(default_factory=dict)

    def kept(self, key: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
        """Make a page once for each state of the switches."""
        state = (
            self.shelf.torch_before, frozenset(self.shelf.without), self.shelf.changes,
            self.leaks_to and self.leaks_to.url, self.metadata, getattr(self, "root_without", ""),
        )  # fmt: skip
        if key not in self.pages or self.pages[key][0] != state:
            self.pages[key] = (state, make())
        return self.pages[key][1]

    def project_page(
        self, asked: Asked, project: str, files: list[Held], href: Callable[[Held], str], footer: str = ""
    ) -> Answer:
        if not files:
            return NOT_HERE
        if self.json and asked.accept.startswith(JSON):
            body = self.kept(
                (asked.path, "json"), lambda: json_page(project, files, href, metadata=self.metadata)
            )
            return Answer(body, JSON, headers=(("Vary", "Accept"),))
        body = self.kept(
            (asked.path,),
            lambda: anchor_page(project, files, href, metadata=self.metadata, footer=footer),
        )
        return Answer(body)


# PyPI and its mirrors


@dataclass
class PypiSite(Site):
    """PyPI, whose files lie elsewhere; with `web`, a mirror's tree with its files beside it."""

    root: str = "/simple"
    link: Callable[[Held], str] = lambda held: f"../../{held.hashed}"
    storage: Replica | None = None  # to which requests for files are sent on

    def give(self, asked: Asked) -> Answer:
        path = asked.path
        if "/packages/" in path or path.startswith("/pypi-packages/"):
            if self.storage is not None:
                return redirect(f"{self.storage.url}/s3{_quoted(path)}")
            return _file_or_metadata(self.shelf.by_hash, path)
        if not path.startswith(f"{self.root}/"):
            return NOT_HERE
        project = path.removeprefix(f"{self.root}/")
        if not project.endswith("/"):
            return redirect(f"{path}/", 301)
        files = self.shelf.pypi(project.strip("/"))
        return self.project_page(asked, project.strip("/"), files, self.link, "<!--SERIAL 1-->")


def _quoted(path: str) -> str:
    return path.replace("+", "%2B")


# torch's index and its mirrors


@dataclass
class TorchSite(Site):
    """A tree like download.pytorch.org's: pages of all variants (`all_variants`) and of each."""

    root: str = "/whl"
    all_variants: bool = True
    bypasses_to: Replica | None = None  # SJTU before September 2026: index pages are upstream's
    storage: Replica | None = None
    forbids: bool = False
    foreign: str = ""  # where dependency pages link to
    root_without: str = ""  # FM43: old local versions missing from the page of all variants

    @property
    def missing(self) -> Answer:
        return FORBIDDEN if self.forbids else NOT_HERE

    def give(self, asked: Asked) -> Answer:
        below = asked.path.removeprefix(f"{self.root}/")
        if below == asked.path:
            return self.missing
        if below.endswith((".whl", ".metadata")):
            return self._file(asked, below)
        if below == "torch_stable.html":
            return Answer(self.kept(("stable",), lambda: stable_page(_stable(self.shelf))))
        if "mirror_intel_list" in asked.query:
            files = self.shelf.folder(below.strip("/"))
            return Answer(store_page(files, asked.path.strip("/"))) if files else self.missing
        return self._index(asked, below)

    def _file(self, asked: Asked, below: str) -> Answer:
        if self.storage is not None:
            return redirect(f"{self.storage.url}/s3{_quoted(asked.path)}")
        return _file_or_metadata(self.find, below, self.missing)

    def _index(self, asked: Asked, below: str) -> Answer:
        if self.bypasses_to is not None:
            return redirect(f"{self.bypasses_to.url}/whl/{below}", 301)
        if below and not below.endswith("/"):
            return redirect(f"{asked.path}/", 301)
        return self._page(asked, below.strip("/").split("/"))

    def _page(self, asked: Asked, parts: list[str]) -> Answer:
        match parts:
            case [project] if self.all_variants:
                files = self.shelf.torch(project)
                gone = self.root_without
                files = [file for file in files if not gone or gone not in file.filename]
            case [variant, project]:
                files = self.shelf.torch(project, variant)
                if not files and project.startswith(_FOREIGN) and self.shelf.pypi(project):
                    return self._dependency_page(project)
            case _:
                files = []
        if not files:
            return self.missing
        return self.project_page(asked, parts[-1], files, self.link, "<!--TIMESTAMP 1-->")

    def _dependency_page(self, project: str) -> Answer:
        files = self.shelf.pypi(project)
        return Answer(anchor_page(project, files, lambda held: f"{self.foreign}/{project}/{held.quoted}"))

    def link(self, held: Held) -> str:
        folder = f"{held.variant}/" if held.variant else ""
        if self.leaks_to is not None:
            return f"{self.leaks_to.url}/whl/{folder}{held.quoted}"
        return f"{self.root}/{folder}{held.quoted}"

    def find(self, path: str) -> Held | None:
        variant, _, filename = path.rpartition("/")
        return self.shelf.get(filename, variant)


def _stable(shelf: Shelf) -> list[Held]:
    """What `torch_stable.html` lists: nothing for a CUDA release after 12.1."""
    old = [name for name in shelf.variants if not name.startswith("cu") or int(name[2:5]) <= _LAST_STABLE]
    return [file for name in ("", *old) for file in shelf.folder(name)]


@dataclass
class FlatSite(Site):
    """Folders of files, in Aliyun's manner or in Apache's: no page a project, no digests."""

    root: str = "/pytorch-wheels"
    page: Callable[[str, list[Held]], bytes] = autoindex_page

    def give(self, asked: Asked) -> Answer:
        if not asked.path.startswith(f"{self.root}/"):
            return NOT_HERE
        below = asked.path.removeprefix(f"{self.root}/")
        variant, _, filename = below.rpartition("/")
        if filename.endswith(".whl"):
            return _file(self.shelf.get(filename, variant))
        files = self.shelf.folder(variant) if variant and not filename else []
        if not files:
            return NOT_HERE
        return Answer(self.kept((asked.path,), lambda: self.page(f"{self.root[1:]}/{variant}", files)))


@dataclass
class Files:
    """A host of files alone: PyPI's, download-r2, an object store behind a mirror."""

    shelf: Shelf
    forbids: bool = False

    def give(self, asked: Asked) -> Answer:
        path = asked.path.removeprefix("/s3")
        missing = FORBIDDEN if self.forbids else NOT_HERE
        if "packages/" in path:
            return _file_or_metadata(self.shelf.by_hash, path, missing)
        below = path.removeprefix("/whl/").removeprefix("/pytorch-wheels/")
        return _file_or_metadata(self._find, unquote(below), missing)

    def _find(self, path: str) -> Held | None:
        variant, _, filename = path.rpartition("/")
        return self.shelf.get(filename, variant)


def either(*gives: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """Ask one after another; the last has the last word."""

    def give(asked: Asked) -> Answer:
        for def_any_any in gives[:-1]:
            answer = def_any_any(asked)
            if answer.status not in (403, 404):
                return answer
        return gives[-1](asked)

    return give
