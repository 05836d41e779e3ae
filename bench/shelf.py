"""What the replica serves: the torch stack as the matrices list it, tiny packages for what it depends on."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from urllib.parse import quote

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version
from wheels import make_wheel

from gpuenv import matrices
from gpuenv.indexes.snapshot import Bases, Pairing, read_snapshot
from gpuenv.model.wheel import PLATFORMS, TorchBuild
from gpuenv.planning.load_knowledge import load_knowledge

STACK = ("torch", "torchvision", "torchaudio")
_SCATTERED = 12_000  # files in a torch wheel
_BULK = 5000  # projects of one small release each
_RELEASES = 40  # of each dependency; the real ones have about as many
_PLAIN = ("filelock", "typing-extensions", "setuptools", "sympy", "networkx", "jinja2", "fsspec")
_NVIDIA = (
    "cublas", "cuda-cupti", "cuda-nvrtc", "cuda-runtime", "cudnn", "cufft", "cufile", "curand", "cusolver",
    "cusparse", "cusparselt", "nccl", "nvjitlink", "nvshmem", "nvtx",
)  # fmt: skip
_NEEDS = {"sympy": ("mpmath",), "jinja2": ("markupsafe",)}
_OTHERS = ("mpmath", "markupsafe", "numpy", "pillow", "triton")


@dataclass(frozen=True)
class File:
    """A wheel on an index: where it lies, what it needs."""

    filename: str
    path: str  # as in links: with `+` as `%2B`
    needs: tuple[str, ...]
    requires_python: str | None = None

    @property
    def metadata(self) -> str:
        """The text of its METADATA."""
        name, version, _ = self.filename.split("-", 2)
        lines = ["Metadata-Version: 2.1", f"Name: {canonicalize_name(name)}", f"Version: {version}"]
        lines += [f"Requires-Python: {self.requires_python}"] if self.requires_python else []
        return "\n".join([*lines, *(f"Requires-Dist: {need}" for need in self.needs)]) + "\n"


class Shelf:
    """All pages and files by path; `torch`: whether its wheels are tiny, heavy (`weight_mb`) or scattered.

    Pages give every file's sha256, as the real ones do. Heavy and scattered wheels take too long to make for
    that: they have theirs once they were asked for, which is before anything is measured.
    """

    def __init__(self, weight_mb: int = 0) -> None:
        self.weight_mb = weight_mb
        self.torch = "tiny"
        self._sent: dict[tuple[str, str], str] = {}
        self._pages: dict[str, list[File]] = defaultdict(list)
        self._files: dict[str, File] = {}
        for page, file in (*_stack_files(), *_dependencies(), *_bulk()):
            self._pages[page].append(file)
            self._files[file.path.replace("%2B", "+")] = file

    def page(self, path: str, *, as_json: bool) -> bytes | None:
        """Return the page of a project, None where there is none."""
        files = self._pages.get(path)
        if not files:
            return None
        sent = tuple((name, digest) for (torch, name), digest in self._sent.items() if torch == self.torch)
        return _render(path, tuple(files), as_json, None if self.torch == "tiny" else sent)

    def file(self, path: str) -> bytes | None:
        """Return a wheel, or the METADATA beside it (PEP 658)."""
        path = path.replace("%2B", "+")
        if path.endswith(".metadata"):
            file = self._files.get(path.removesuffix(".metadata"))
            return file.metadata.encode() if file else None
        file = self._files.get(path)
        return self._content(file) if file else None

    def _content(self, file: File) -> bytes:
        if not file.filename.startswith("torch-") or self.torch == "tiny":
            return _wheel(file)
        heavy = self.torch == "heavy"
        body = _wheel(file, self.weight_mb) if heavy else _wheel(file, members=_SCATTERED)
        key = (self.torch, file.filename)
        if key not in self._sent:
            self._sent[key] = hashlib.sha256(body).hexdigest()
        return body


@cache
def _wheel(file: File, weight_mb: int = 0, members: int = 0) -> bytes:
    return make_wheel(file.filename, file.metadata, weight_mb, members)


@lru_cache(maxsize=4096)
def _render(
    path: str, files: tuple[File, ...], as_json: bool, sent: tuple[tuple[str, str], ...] | None
) -> bytes:
    """Render a page; `sent` are the digests of torch's wheels that are not tiny, as far as they are known."""
    known = None if sent is None else dict(sent)
    digests = {file: digest for file in files if (digest := _digest_of(file, known))}
    return (_render_json if as_json else _render_html)(path.split("/")[-2], files, digests).encode()


def _digest_of(file: File, sent: dict[str, str] | None) -> str | None:
    if sent is None or not file.filename.startswith("torch-"):
        return _sha256(file)
    return sent.get(file.filename)


def _render_html(project: str, files: Iterable[File], digests: dict[File, str]) -> str:
    links = "".join(
        f'    <a href="{file.path}{_fragment(digests.get(file))}" data-dist-info-metadata="true" '
        f'data-core-metadata="true"{_requires(file)}>{escape(file.filename)}</a><br/>\n'
        for file in files
    )
    return f"<!DOCTYPE html>\n<html>\n  <body>\n    <h1>Links for {project}</h1>\n{links}  </body>\n</html>\n"


def _fragment(digest: str | None) -> str:
    return f"#sha256={digest}" if digest else ""


def _requires(file: File) -> str:
    return f' data-requires-python="{escape(file.requires_python)}"' if file.requires_python else ""


def _render_json(project: str, files: Iterable[File], digests: dict[File, str]) -> str:
    rows = [
        {
            "filename": file.filename,
            "url": file.path,
            "hashes": {"sha256": digests[file]} if file in digests else {},
            "requires-python": file.requires_python,
            "size": len(_wheel(file)),
            "yanked": False,
            "core-metadata": True,
        }
        for file in files
    ]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": rows})


@cache
def _sha256(file: File) -> str:
    return hashlib.sha256(_wheel(file)).hexdigest()


def _stack_files() -> Iterable[tuple[str, File]]:
    """The torch stack: each file on its index, on the PyTorch index also on its variant's own."""
    rows, builds, pairs = matrices.load("wheels"), _assumed_builds(), tuple(_pairings())
    projects = tuple(canonicalize_name(name) for name in STACK)
    torch_of = {(pair.project, pair.version): pair.torch for pair in pairs}
    for listing in read_snapshot(rows, builds, pairs, projects, Bases("/whl", "/simple")):
        for wheel_file in listing.files:
            version = Version(wheel_file.version.public)
            torch = version if listing.project == "torch" else torch_of.get((listing.project, version))
            local = f"+{wheel_file.version.local}" if wheel_file.version.local else ""
            path = wheel_file.url or f"/packages/{quote(wheel_file.filename)}"
            file = File(
                wheel_file.filename, path, _needs(listing.project, torch, local), wheel_file.requires_python
            )
            yield f"{listing.page}", file
            if wheel_file.url:
                yield f"/whl/{wheel_file.url.split('/')[2]}/{listing.project}/", file


def _assumed_builds() -> tuple[TorchBuild, ...]:
    knowledge = load_knowledge()
    return tuple(build for platform in PLATFORMS for build in knowledge.builds_of(platform))


def _pairings() -> Iterable[Pairing]:
    knowledge = load_knowledge()
    for torch in dict.fromkeys(build.torch for build in _assumed_builds()):
        for project, versions in knowledge.companions_of(torch).items():
            for version in versions:
                yield Pairing(torch, canonicalize_name(project), version)


def _needs(project: NormalizedName, torch: Version | None, local: str) -> tuple[str, ...]:
    if project != "torch":
        return ("numpy", "pillow", *((f"torch=={torch}",) if torch else ()))
    if local.startswith("+cpu"):
        return _PLAIN
    suffix = "-cu13" if local.startswith("+cu13") or not local else "-cu12"
    bound = (f"nvidia-{name}{suffix}==7.0.0" for name in _NVIDIA)
    on_linux = '; platform_system == "Linux"'
    return (*_PLAIN, *(f"{need}{on_linux}" for need in (*bound, "triton==7.0.0")))


def _dependencies() -> Iterable[tuple[str, File]]:
    """Every dependency on PyPI, and its own copy under each folder of the PyTorch index."""
    nvidia = tuple(f"nvidia-{name}-cu{major}" for name in _NVIDIA for major in (12, 13))
    folders = ("", *(f"{variant}/" for variant in _variants()))
    for project in (*_PLAIN, *_OTHERS, *nvidia):
        for release in range(1, _RELEASES + 1):
            filename = f"{project.replace('-', '_')}-{release}.0.0-py3-none-any.whl"
            file = File(filename, f"/packages/{filename}", _NEEDS.get(project, ()), ">=3.8")
            yield f"/simple/{project}/", file
            for folder in folders:
                yield f"/whl/{folder}{project}/", file


def _bulk() -> Iterable[tuple[str, File]]:
    for number in range(_BULK):
        filename = f"bulk_{number:04}-1.0.0-py3-none-any.whl"
        file = File(filename, f"/packages/{filename}", (), ">=3.8")
        yield f"/simple/bulk-{number:04}/", file


def _variants() -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(build.variant) for build in _assumed_builds()))
