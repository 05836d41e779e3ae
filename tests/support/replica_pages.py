"""Pages in the layouts of mirrors (facts: mirror_layouts.json), of the files that a shelf holds."""

from __future__ import annotations

import hashlib
import html
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from index_server import SIZE, PublishedFile, published
from packaging.version import Version

from gpuenv import matrices

JSON = "application/vnd.pypi.simple.v1+json"
Href = Callable[["Held"], str]


@dataclass(frozen=True)
class Held:
    """A file on a shelf; `variant` is its folder on the PyTorch index, None for a file of PyPI's."""

    project: str
    filename: str
    variant: str | None
    sha256: str
    requires_python: str | None = None
    yanked: bool = False
    content: bytes | None = None

    @property
    def size(self) -> int:
        return SIZE if self.content is None else len(self.content)

    @property
    def version(self) -> str:
        return self.filename.split("-")[1]

    @property
    def quoted(self) -> str:
        """The name as pages have it: `+` is `%2B`."""
        return quote(self.filename)

    @property
    def hashed(self) -> str:
        """The folders of PyPI's file host: two, two and sixty digits."""
        digest = hashlib.blake2b(self.filename.encode(), digest_size=32).hexdigest()
        return f"packages/{digest[:2]}/{digest[2:4]}/{digest[4:]}/{self.quoted}"

    @property
    def metadata(self) -> bytes:
        if self.content is None:
            name = self.filename.partition("-")[0]
            return f"Metadata-Version: 2.1\nName: {name}\nVersion: {self.version}\n".encode()
        with zipfile.ZipFile(io.BytesIO(self.content)) as wheel:
            return wheel.read(next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")))


@cache
def _everything() -> dict[tuple[str, str | None], Held]:
    yanked = {row["filename"] for row in matrices.load("wheels") if row.get("yanked")}
    held = (_held(file, file.filename in yanked) for file in published().values())
    return {(item.filename, item.variant): item for item in held}


def _held(file: PublishedFile, yanked: bool) -> Held:
    """A file that nobody saw has a digest all the same: every index that tells digests tells all."""
    variant = (file.subdir or "") if file.kind == "pytorch" else None
    digest = file.sha256 or hashlib.sha256(f"{variant}/{file.filename}".encode()).hexdigest()
    return Held(file.project, file.filename, variant, digest, file.requires_python, yanked, file.content)


class Shelf:
    """What a mirror holds: all that the matrices know to be published, unless it is told otherwise."""

    def __init__(self) -> None:
        self._files = dict(_everything())
        self._tree: dict[tuple[str, bool], list[Held]] = {}
        self.torch_before: Version | None = None
        self.without: set[str] = set()  # names, or parts of them
        self.changes = 0
        self._sort()

    def add(self, wheel: Path, variant: str | None = None) -> Held:
        """Take a wheel with its bytes; one of the same name and place goes."""
        content = wheel.read_bytes()
        project = wheel.name.partition("-")[0].lower().replace("_", "-")
        file = Held(project, wheel.name, variant, hashlib.sha256(content).hexdigest(), content=content)
        self._files[file.filename, variant] = file
        self._sort()
        return file

    def _sort(self) -> None:
        self.changes += 1
        self._tree.clear()
        for file in self._files.values():
            self._tree.setdefault((file.project, file.variant is None), []).append(file)

    def pypi(self, project: str) -> list[Held]:
        return self._shown(self._tree.get((project, True), []))

    def torch(self, project: str, variant: str | None = None) -> list[Held]:
        """List a project's files on the PyTorch index, in one folder or in all."""
        own = self._shown(self._tree.get((project, False), []))
        return [file for file in own if variant is None or file.variant == variant]

    def folder(self, variant: str) -> list[Held]:
        projects = {project for project, is_pypi in self._tree if not is_pypi}
        return [file for project in sorted(projects) for file in self.torch(project, variant)]

    @property
    def variants(self) -> list[str]:
        return sorted({file.variant for file in self._files.values() if file.variant})

    def get(self, filename: str, variant: str | None) -> Held | None:
        file = self._files.get((filename, variant))
        return file if file is not None and self._shown([file]) else None

    def by_hash(self, path: str) -> Held | None:
        """Find a file by what PyPI's file host calls it."""
        filename = path.rpartition("/")[2]
        file = self.get(filename, None)
        return file if file and quote(path).endswith(file.hashed) else None

    def _shown(self, files: list[Held]) -> list[Held]:
        return [file for file in files if not self._missing(file)]

    def _missing(self, file: Held) -> bool:
        if any(part in file.filename for part in self.without):
            return True
        return self.torch_before is not None and _torch_of(file) >= self.torch_before


@cache
def _torch_of(file: Held) -> Version:
    """The torch that a file was made for, the least version for what is no companion of torch."""
    release = Version(file.version.partition("+")[0])
    if file.project == "torch":
        return release
    return _made_for().get((file.project, str(release)), Version("0"))


@cache
def _made_for() -> dict[tuple[str, str], Version]:
    """The oldest torch that each release of a companion goes with."""
    versions: dict[tuple[str, str], Version] = {}
    for row in matrices.load("torch"):
        torch = Version(row["torch"])
        for project in ("torchvision", "torchaudio"):
            for release in row[project]:
                versions[project, release] = min(torch, versions.get((project, release), torch))
    return versions


# pages


def anchor_page(
    project: str,
    files: Iterable[Held],
    href: Href,
    *,
    digests: bool = True,
    metadata: bool = True,
    footer: str = "",
) -> bytes:
    """PEP 503: an anchor a file; `metadata` announces PEP 658's."""
    lines = []
    for file in files:
        digest = f"#sha256={file.sha256}" if digests else ""
        needs = f' data-requires-python="{html.escape(file.requires_python)}"' if file.requires_python else ""
        message = ' data-core-metadata="true" data-dist-info-metadata="true"' if metadata else ""
        yanked = ' data-yanked=""' if file.yanked else ""
        lines.append(
            f'    <a href="{href(file)}{digest}"{needs}{message}{yanked}>'
            f"{html.escape(file.filename)}</a><br/>"
        )
    heading = f"<!DOCTYPE html>\n<html>\n  <body>\n    <h1>Links for {project}</h1>\n"
    return (heading + "\n".join(lines) + f"\n  </body>\n</html>\n{footer}\n").encode()


def json_page(project: str, files: Iterable[Held], href: Href, *, metadata: bool = True) -> bytes:
    """PEP 691; `metadata` announces PEP 658's."""
    entries: list[dict[str, Any]] = [
        {
            "filename": file.filename,
            "url": href(file),
            "hashes": {"sha256": file.sha256},
            "requires-python": file.requires_python,
            "size": file.size,
            "yanked": file.yanked,
            "core-metadata": metadata,
        }
        for file in files
    ]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": entries}).encode()


def autoindex_page(title: str, files: Iterable[Held]) -> bytes:
    """A folder as Aliyun shows it: `+` is `&#43;`, long names end in dots, no digests."""
    rows = ['<tr><td class="link"><a href="../">Parent directory/</a></td><td>-</td><td>-</td></tr>']
    for file in files:
        name = file.filename.replace("+", "&#43;")
        shown = file.filename if len(file.filename) < 52 else f"{html.escape(file.filename[:48])}..&gt;"
        rows.append(
            f'<tr><td class="link"><a href="{name}" title="{file.filename}">{shown}</a></td>'
            f"<td>{file.size / 1e6:.1f} MB</td><td>2024-10-30 01:02</td></tr>"
        )
    head = f"<html>\n<head><title>Index of /{title}/</title></head>\n<body>\n<table>\n"
    return (head + "\n".join(rows) + "\n</table>\n</body>\n</html>\n").encode()


def apache_page(title: str, files: Iterable[Held]) -> bytes:
    """A folder as Apache shows it: links to sort by, literal `+`."""
    sort = ' <a href="?C=N;O=D">Name</a> <a href="?C=M;O=A">Last modified</a> <hr> <a href="../">Parent</a>\n'
    icon = '<img src="/icons/unknown.gif" alt="[   ]">'
    rows = [f'{icon} <a href="{file.filename}">{file.filename}</a>' for file in files]
    head = f"<html><head><title>Index of /{title}</title></head>\n<body><h1>Index of /{title}</h1>\n<pre>"
    return (head + sort + "\n".join(rows) + "\n<hr></pre></body></html>\n").encode()


def store_page(files: Iterable[Held], prefix: str) -> bytes:
    """A folder of an object store, as SJTU lists it: whole keys, sizes in bytes."""
    rows = [
        f'<tr><td><a href="/{prefix}/{file.quoted}">{file.filename}</a></td>'
        f"<td>2026-08-01T00:00:00.000Z</td><td>{file.size}</td></tr>"
        for file in files
    ]
    up = f'<tr><td><a href="/{prefix}/../?mirror_intel_list">..</a></td><td></td><td></td></tr>'
    head = f"<html><body><h1>Index of /{prefix}/</h1><table>\n{up}\n"
    return (head + "\n".join(rows) + "\n</table></body></html>\n").encode()


def stable_page(files: Iterable[Held]) -> bytes:
    """`torch_stable.html`: all variants on one page, no doctype, no digests, the folder in the text."""
    lines = []
    for file in files:
        location = f"{file.variant}/{file.quoted}" if file.variant else file.quoted
        lines.append(f'<a href="{location}">{location}</a><br>')
    return ("\n".join(lines) + "\n").encode()
