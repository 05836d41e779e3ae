"""PyPI and the PyTorch index on 127.0.0.1: all that the matrices know to be published, on real pages.

    /simple/torch/         PyPI: HTML or JSON, as is asked for; files without a local version
    /whl/torch/            the PyTorch index: every variant
    /whl/cu126/torch/      the PyTorch index: one variant
    /whl/cu126/torch-…     a file, if it has bytes; its size and its metadata if it has none

Answers carry an ETag. A test may publish wheels of its own, break a part of the server, and count requests.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import socket
import ssl
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from gpuenv import matrices

Kind = Literal["pypi", "pytorch"]
Fault = Literal["500", "404", "hang", "reset", "garbage", "slow"]

SIZE = 800_000_000  # bytes, of every file that has none
SLOW_S = 0.4
_WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_JSON = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True)
class PublishedFile:
    """A file on one of the two indexes; `subdir` is the PyTorch index's folder."""

    project: str
    filename: str
    kind: Kind
    subdir: str | None
    sha256: str | None
    requires_python: str | None = None
    content: bytes | None = None
    requires: tuple[str, ...] = ()
    uploaded: str | None = None  # the day

    @property
    def path(self) -> str:
        folder = f"/whl/{self.subdir}" if self.kind == "pytorch" else "/packages"
        return f"{folder}/{quote(self.filename)}"

    @property
    def size(self) -> int:
        return SIZE if self.content is None else len(self.content)

    @property
    def metadata(self) -> str:
        name, version = self.filename.split("-")[:2]
        needs = "".join(f"Requires-Dist: {item}\n" for item in self.requires)
        return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"

    def made(self) -> bytes:
        """Return a wheel with nothing but its metadata, for one that has no bytes."""
        name, version = self.filename.split("-")[:2]
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for member, text in (("METADATA", self.metadata), ("WHEEL", _WHEEL), ("RECORD", "")):
                archive.writestr(f"{name}-{version}.dist-info/{member}", text)
        return buffer.getvalue()


@cache
def published() -> dict[str, PublishedFile]:
    """Return what the matrices know to be published, by path."""
    seen = (
        PublishedFile(
            row["project"], row["filename"], row["index"], row.get("subdir"), row.get("sha256"),
            row.get("requires_python"),
        )
        for row in matrices.load("wheels")
    )  # fmt: skip
    files = {file.path: file for file in seen}
    for file in _unseen(files.values()):
        files.setdefault(file.path, file)
    return files


def _unseen(seen: Iterable[PublishedFile]) -> Iterator[PublishedFile]:
    """Yield what the PyTorch index must hold too: each build that the matrix knows, and its companions.

    The pages that were read have holes: of a release and variant that has a file for the platform, nothing
    is added.
    """
    there = {_slot(file.filename, file.subdir) for file in seen if file.kind == "pytorch"}
    releases = {
        (row["project"], row["version"]): row["pythons"]
        for row in matrices.load("companions")
        if row["kind"] == "release"
    }
    for row in matrices.load("torch"):
        if row["index"] != "pytorch":
            continue
        wanted = [("torch", row["torch"], row["pythons"])]
        for project in ("torchvision", "torchaudio"):
            wanted += [(project, version, releases[project, version]) for version in row[project]]
        for project, version, pythons in wanted:
            for tag in row["tags"]:
                for python in pythons:
                    abi = "none" if python == "py3" else python
                    start = f"{project}-{version}+{row['variant']}-{python.rstrip('t')}-{abi}"
                    file = PublishedFile(project, f"{start}-{tag}.whl", "pytorch", row["variant"], None)
                    if _slot(file.filename, file.subdir) not in there:
                        yield file


def _slot(filename: str, subdir: str | None) -> tuple[str, ...]:
    """Tell what a file is for: project, release, variant, platform."""
    project, version, *_, platform = filename.removesuffix(".whl").split("-")
    return project, version.partition("+")[0], str(subdir), platform.rpartition(".")[2][-6:]


@dataclass(frozen=True)
class Page:
    """What is at an address."""

    content_type: str
    body: bytes


@dataclass
class IndexServer:
    """The server; `asked` are the requests since `forget`, as (method, path, status).

    Paths that start with one of `logins` are served only to who gives its user name and password.
    """

    url: str = ""
    logins: dict[str, str] = field(default_factory=dict)
    files: dict[str, PublishedFile] = field(default_factory=lambda: dict(published()))
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    faults: dict[str, Fault] = field(default_factory=dict)
    closing: threading.Event = field(default_factory=threading.Event)
    makes_wheels: bool = False  # of those without bytes: a resolver reads the metadata in them
    only_for: dict[str, str] = field(default_factory=dict)  # files that one client alone is told of: `pip`
    _pages: dict[tuple[str, bool, str], Page | None] = field(default_factory=dict)

    @property
    def pypi(self) -> str:
        return f"{self.url}/simple"

    @property
    def pytorch(self) -> str:
        return f"{self.url}/whl"

    def publish(self, wheel: Path, kind: Kind, subdir: str | None = None) -> PublishedFile:
        """Put a wheel with its bytes on an index; it takes the place of one with the same name."""
        content = wheel.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        project = wheel.name.partition("-")[0].lower().replace("_", "-")
        file = PublishedFile(project, wheel.name, kind, subdir, digest, content=content)
        self.files[file.path] = file
        self._pages.clear()
        return file

    def list_release(
        self, project: str, version: str, uploaded: str | None, *requires: str, tag: str = "py3-none-any"
    ) -> None:
        """List a wheel on PyPI that has no bytes, but METADATA beside it."""
        name = f"{project.replace('-', '_')}-{version}-{tag}.whl"
        file = PublishedFile(project, name, "pypi", None, None, requires=requires, uploaded=uploaded)
        self.files[file.path] = file
        self._pages.clear()

    def forget(self) -> None:
        self.asked.clear()

    def count(self, *, status: int | None = None) -> Counter[str]:
        """Count the requests for pages and files by path, or those that were answered so."""
        return Counter(path for _, path, answered in self.asked if status in (None, answered))

    @contextmanager
    def failing(self, fault: Fault, *starts: str) -> Iterator[None]:
        """Let paths that start so fail, as long as the block lasts."""
        self.faults.update(dict.fromkeys(starts, fault))
        try:
            yield
        finally:
            for start in starts:
                del self.faults[start]

    def fault_of(self, path: str) -> Fault | None:
        return next((fault for start, fault in self.faults.items() if path.startswith(start)), None)

    def page(self, path: str, accept: str, client: str = "") -> Page | None:
        """Return a page; None where there is none."""
        key = (path.strip("/"), path.startswith("/simple/") and accept.startswith(_JSON), client)
        if key not in self._pages:
            self._pages[key] = self._make_page(*key)
        return self._pages[key]

    def _make_page(self, path: str, as_json: bool, client: str) -> Page | None:
        match path.split("/"):
            case ["simple", project]:
                listed = [file for file in self.files.values() if file.kind == "pypi"]
            case ["whl", project]:
                listed = [file for file in self.files.values() if file.kind == "pytorch"]
            case ["whl", variant, project]:
                listed = [file for file in self.files.values() if file.subdir == variant]
            case _:
                return None
        listed = [file for file in listed if file.project == project]
        listed = [file for file in listed if self.only_for.get(file.path, client) == client]
        if not listed:
            return None
        if as_json:
            return Page(_JSON, _json_page(project, listed).encode())
        return Page("text/html; charset=utf-8", _html_page(project, listed).encode())


def _html_page(project: str, files: list[PublishedFile]) -> str:
    anchors = []
    for file in files:
        digest = f"#sha256={file.sha256}" if file.sha256 else ""
        needs = f' data-requires-python="{html.escape(file.requires_python)}"' if file.requires_python else ""
        message = "" if file.content else ' data-core-metadata="true" data-dist-info-metadata="true"'
        anchors.append(f'<a href="{file.path}{digest}"{needs}{message}>{html.escape(file.filename)}</a><br>')
    heading = f"<!DOCTYPE html><html><body><h1>Links for {project}</h1>\n"
    return heading + "\n".join(anchors) + "\n</body></html>\n"


def _json_page(project: str, files: list[PublishedFile]) -> str:
    entries = [
        {
            "filename": file.filename,
            "url": file.path,
            "hashes": {"sha256": file.sha256} if file.sha256 else {},
            "requires-python": file.requires_python,
            "size": file.size,
            "yanked": False,
            "core-metadata": file.content is None,
            **({"upload-time": f"{file.uploaded}T12:00:00.000000Z"} if file.uploaded else {}),
        }
        for file in files
    ]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": entries})


_FAULTY_ANSWERS: dict[str | None, tuple[int, str, bytes]] = {
    "500": (500, "text/plain", b"it went wrong"),
    "404": (404, "text/plain", b"not here"),
    "garbage": (200, "text/html", b"<html><h1>Please log in to the network</h1></html>"),
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: IndexServer

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        fault = self.index.fault_of(path)
        if not self._is_let_in(path):
            self._send(401, "text/plain", b"who is there?", WWW_Authenticate='Basic realm="wheels"')
        elif fault == "hang" and self.command == "GET":
            self.index.asked.append((self.command, path, 0))
            self.index.closing.wait()
            self.close_connection = True
        elif fault == "reset":
            self.index.asked.append((self.command, path, 0))
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif fault in _FAULTY_ANSWERS:
            self._send(*_FAULTY_ANSWERS[fault])
        else:
            time.sleep(SLOW_S if fault == "slow" else 0)
            self._answer(path)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def _is_let_in(self, path: str) -> bool:
        given = self.headers.get("Authorization", "")
        expected = [login for start, login in self.index.logins.items() if path.startswith(start)]
        return all(given == f"Basic {base64.b64encode(login.encode()).decode()}" for login in expected)

    def _answer(self, path: str) -> None:
        file = self.index.files.get(quote(unquote(path), safe="/"))
        published_file = None
        if path.endswith(".metadata"):
            published_file = self.index.files.get(quote(unquote(path.removesuffix(".metadata")), safe="/"))
        client = self.headers.get("User-Agent", "").partition("/")[0]
        page = self.index.page(unquote(path), self.headers.get("Accept", ""), client)
        if page is not None and not path.endswith("/"):
            self._send(301, "text/plain", b"", Location=f"{path}/")
        elif page is not None:
            self._send(200, page.content_type, page.body)
        elif file is not None and file.content is not None:
            self._send(200, "application/zip", file.content)
        elif file is not None and self.index.makes_wheels and self.command == "GET":
            self._send(200, "application/zip", file.made())
        elif file is not None and self.command == "HEAD":
            self._send(200, "application/zip", b"", Content_Length=str(file.size))
        elif published_file is not None and published_file.content is None:
            self._send(200, "text/plain", published_file.metadata.encode())
        else:
            self._send(404, "text/plain", b"not here")

    def _send(self, status: int, content_type: str, body: bytes, **more: str) -> None:
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        unchanged = status == 200 and self.headers.get("If-None-Match") == tag
        status = 304 if unchanged else status
        body = b"" if unchanged else body
        self.index.asked.append((self.command, urlsplit(self.path).path, status))
        headers = {"Content-Type": content_type, "Content-Length": str(len(body)), "ETag": tag}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        self.send_response(status)
        for name, value in headers.items():
            if not (unchanged and name == "Content-Length"):
                self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """Clients that go away are part of the tests."""


@contextmanager
def serve_indexes(tls: ssl.SSLContext | None = None) -> Iterator[IndexServer]:
    """Run the server until the block ends; with `tls` over https."""
    index = IndexServer()
    handler = type("Handler", (_Handler,), {"index": index})
    server = _Server(("127.0.0.1", 0), handler)
    if tls is not None:  # a client that does not trust us must not hold others back
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    index.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield index
    finally:
        index.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def dead_url() -> str:
    """Return an address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
