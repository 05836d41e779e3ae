"""The pages of projects bound to torch that ecosystem.json knows, with files named as real ones are."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any
from urllib.parse import quote, unquote
from zipfile import ZipFile

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv import matrices
from gpuenv.indexes.link import Link
from gpuenv.indexes.wheel_files import select_wheels
from gpuenv.model.index import IndexSource, Listing
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.torch_bound_pages import bound_projects, loosened, pages_to_read

Pages = Mapping[str, tuple[str, ...]]  # addresses -> names of files
_SYSTEMS = {"linux-64": "linux_x86_64", "win-64": "win_amd64"}
_PYG = {"torch_scatter": "2.1.2", "torch_sparse": "0.6.18", "pyg_lib": "0.5.0"}


@cache
def pages() -> Pages:
    """Return every page that is known, with what it may hold."""
    fields: dict[str, tuple[str, ...]] = {}
    templates = {row["set"]: row["page"] for row in matrices.load("ecosystem") if row["kind"] == "set"}
    for row in matrices.load("ecosystem"):
        if row["kind"] == "wheels" and row["by"] is None:
            for version in row["versions"] or (None,):
                facts = {"torch": row["torch"], "variant": row["variant"], "version": version}
                page = templates[row["set"]].format(**facts)
                fields[page] = (*fields.get(page, ()), *_files(row, version))
    return fields


def _files(row: Mapping[str, Any], version: str | None) -> tuple[str, ...]:
    systems = [_SYSTEMS[row["platform"]]] if row["platform"] else list(_SYSTEMS.values())
    tags = [f"cp3{minor}-cp3{minor}-{system}" for minor in range(9, 14) for system in systems]
    match row["set"]:
        case "pyg":
            local = f"pt{row['torch'].replace('.', '')}{row['variant']}"
            heads = [f"{name}-{release}+{local}" for name, release in _PYG.items()]
        case "flash-attn":
            local = f"{row['variant']}torch{row['torch']}cxx11abi"
            heads = [f"flash_attn-{version}+{local}{abi}" for abi in ("FALSE", "TRUE")]
        case "mmcv":
            heads = [f"mmcv-{version}"]
        case name:
            heads = [f"{name}-2.0.0+{row['variant']}"]
    return tuple(f"{head}-{tag}.whl" for head in heads for tag in tags)


def listed(source: IndexSource, names: tuple[str, ...], project: str) -> Listing:
    """Return what a page with files of these names lists of a project."""
    folder = source.url.rpartition("/")[0]
    links = (Link(f"{folder}/{name.replace('+', '%2B')}", name) for name in names)
    files = select_wheels(links, canonicalize_name(project), source.url)
    return Listing(source, canonicalize_name(project), files.files, source.url)


def with_pages(question: ResolutionInput, shop: Pages | None = None) -> ResolutionInput:
    """Return the question with the pages read that a plan would read."""
    names = bound_projects(question.request, question.target, question.pythons, question.knowledge)
    question = question.with_request(replace(question.request, extensions=names))
    question = _read_on(question, pages() if shop is None else shop)
    if decide(question).choices or not names:
        return question
    for other in loosened(question):
        inputs = replace(other, listings=question.listings, available=question.available)
        read = _read_on(inputs, pages() if shop is None else shop)
        question = question.with_listings(read.listings[len(question.listings) :])
    return question


def _read_on(question: ResolutionInput, shop: Pages) -> ResolutionInput:
    while sources := pages_to_read(question):
        question = question.with_listings(
            tuple(
                listed(source, shop.get(source.url, ()), name)
                for source in sources
                for name in question.request.extensions
                if (wheels := question.knowledge.ecosystem.set_of(name)) and wheels.name == source.name
            )
        )
    return question


@dataclass
class Shop:
    """A server of the pages and of the wheels on them; `asked` are the paths of the requests for pages."""

    url: str
    pages: dict[str, tuple[str, ...]]
    asked: list[str]
    status: dict[str, int]  # by a part of the path

    def rows(self) -> list[dict[str, Any]]:
        """Return the sets of the matrix with their pages at this server."""
        sets = [row for row in matrices.load("ecosystem") if row["kind"] == "set"]
        return [{**row, "page": self.here(row["page"])} for row in sets]

    def here(self, page: str) -> str:
        """Return an address of the real pages, at this server."""
        return page.replace("https://", f"{self.url}/")


@contextmanager
def serve_shop() -> Iterator[Shop]:
    """Serve the pages as they are known, with tiny wheels; flash-attn's metadata lacks the local version."""
    shop = Shop("", dict(pages()), [], {})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            status = next((code for part, code in shop.status.items() if part in path), 200)
            names = shop.pages.get(f"https:/{path}")
            if path.endswith(".whl"):
                return self._send(200, "application/zip", _bytes(path.rpartition("/")[2]))
            shop.asked.append(path)
            if names is None or status != 200:
                return self._send(404 if status == 200 else status, "text/plain", b"not here")
            links = (f'<li><a href="{quote(name)}" rel="nofollow">{name}</a></li>' for name in names)
            return self._send(200, "text/html", f"<div><ul>{''.join(links)}</ul></div>".encode())

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    shop.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield shop
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@cache
def _bytes(filename: str) -> bytes:
    name, version, *_ = filename.split("-")
    message = version.partition("+")[0] if name == "flash_attn" else version
    folder = f"{name}-{message}.dist-info"
    tag = filename.removesuffix(".whl").split("-", 2)[2]
    members = {
        f"{name}/__init__.py": "",
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {message}\n",
        f"{folder}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{folder}/RECORD": "",
    }
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return buffer.getvalue()
