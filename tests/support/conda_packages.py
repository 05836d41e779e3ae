"""Tiny real conda packages: every conda tool installs them."""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from tiny_wheels import tiny_torch

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"
_INTERPRETER = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
_TIMESTAMP_MS = 1_750_000_000_000


@dataclass(frozen=True)
class Link:
    """A symbolic link in a package."""

    target: str


@dataclass(frozen=True)
class CondaPackage:
    """One package; a noarch one has `noarch` as its subdir."""

    name: str
    version: str
    build: str = "h0_0"
    number: int = 0
    subdir: str = "linux-64"
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()
    files: Mapping[str, bytes | Link] = field(default_factory=dict, hash=False)
    python: bool = False  # of noarch packages: whether its files are modules
    entry_points: tuple[str, ...] = ()
    features: str | None = None
    ending: Literal[".conda", ".tar.bz2"] = ".conda"

    @property
    def stem(self) -> str:
        return f"{self.name}-{self.version}-{self.build}"

    @property
    def filename(self) -> str:
        return self.stem + self.ending

    @property
    def index(self) -> dict[str, Any]:
        """What stands in `info/index.json`."""
        facts: dict[str, Any] = {
            "arch": None, "build": self.build, "build_number": self.number, "depends": list(self.depends),
            "license": "MIT", "name": self.name, "platform": None, "subdir": self.subdir,
            "timestamp": _TIMESTAMP_MS, "version": self.version,
        }  # fmt: skip
        if self.constrains:
            facts["constrains"] = list(self.constrains)
        if self.features:
            facts["track_features"] = self.features
        if self.subdir == "noarch":
            facts["noarch"] = "python" if self.python else "generic"
        return facts

    @cached_property
    def content(self) -> bytes:
        """The package's bytes."""
        info = {"info/index.json": self.index, "info/paths.json": self._paths(), "info/about.json": {}}
        if self.python and self.subdir == "noarch":
            link = {"type": "python", "entry_points": list(self.entry_points)}
            info["info/link.json"] = {"noarch": link, "package_metadata_version": 1}
        described = {path: json.dumps(document).encode() for path, document in info.items()}
        described["info/files"] = "".join(f"{path}\n" for path in self.files).encode()
        if self.ending == ".tar.bz2":
            return bz2.compress(_tar({**self.files, **described}), 1)
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            archive.writestr("metadata.json", '{"conda_pkg_format_version": 2}')
            archive.writestr(f"pkg-{self.stem}.tar.zst", zstd.compress(_tar(self.files), 1))
            archive.writestr(f"info-{self.stem}.tar.zst", zstd.compress(_tar(described), 1))
        return written.getvalue()

    @property
    def entry(self) -> dict[str, Any]:
        """What stands in repodata."""
        return {
            **self.index,
            "md5": hashlib.md5(self.content, usedforsecurity=False).hexdigest(),
            "sha256": hashlib.sha256(self.content).hexdigest(),
            "size": len(self.content),
        }

    def _paths(self) -> dict[str, Any]:
        rows = []
        for path, content in self.files.items():
            data = b"" if isinstance(content, Link) else content
            kind = "softlink" if isinstance(content, Link) else "hardlink"
            digest = hashlib.sha256(data).hexdigest()
            rows.append({"_path": path, "path_type": kind, "sha256": digest, "size_in_bytes": len(data)})
        return {"paths": rows, "paths_version": 1}


def _tar(files: Mapping[str, bytes | Link]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.mtime = _TIMESTAMP_MS // 1000
            if isinstance(content, Link):
                member.type, member.linkname = tarfile.SYMTYPE, content.target
                archive.addfile(member)
            else:
                member.mode, member.size = 0o755 if path.startswith("bin/") else 0o644, len(content)
                archive.addfile(member, io.BytesIO(content))
    return written.getvalue()


def python_package(version: str, subdir: str = "linux-64") -> CondaPackage:
    """Return conda-forge's `python`; installed on this machine, it runs as the interpreter of these tests.

    It is laid out like an environment of `venv`, so that `sys.prefix` is the environment. Whatever its
    version, what runs is this interpreter: its folder of modules leads to the one of the version.
    """
    minor = ".".join(version.split(".")[:2])
    tag = abi_of(minor)
    files: dict[str, bytes | Link] = {
        f"bin/python{minor}": Link(_INTERPRETER),
        "bin/python3": Link(f"python{minor}"),
        "bin/python": Link(f"python{minor}"),
        "pyvenv.cfg": f"home = {os.path.dirname(_INTERPRETER)}\nversion = {version}\n".encode(),  # noqa: PTH120
        f"lib/python{minor}/site-packages/README.txt": b"modules go here\n",
    }
    if minor != RUNNING:
        files[f"lib/python{RUNNING}"] = Link(f"python{minor}")
    return CondaPackage(
        "python", version, "h0000000_0_cpython", subdir=subdir,
        depends=(*glibc(subdir), "libzlib >=1.3.1,<2.0a0", "tzdata"),
        constrains=(f"python_abi {minor}.* *_{tag}",),
        files=files if subdir == "linux-64" else {},
    )  # fmt: skip


def abi_of(minor: str) -> str:
    """`cp37m`, `cp38`: what builds of `python_abi` are named by."""
    return f"cp{minor.replace('.', '')}{'m' if minor in {'3.5', '3.6', '3.7'} else ''}"


def module_files(minor: str, name: str, version: str) -> dict[str, bytes | Link]:
    """Return a module and its metadata, where an environment of a Python has them."""
    folder = f"lib/python{minor}/site-packages"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return {
        f"{folder}/{name}/__init__.py": f"__version__ = {version!r}\n".encode(),
        f"{folder}/{name}-{version}.dist-info/METADATA": metadata.encode(),
    }


def torch_files(minor: str, version: str, cuda: str | None, scratch: Path) -> dict[str, bytes | Link]:
    """Return the fake torch that `verify` can put to work; FAKE_TORCH tells it how to behave."""
    folder = f"lib/python{minor}/site-packages"
    with zipfile.ZipFile(tiny_torch(scratch, version, cuda=cuda)) as wheel:
        return {f"{folder}/{member}": wheel.read(member) for member in wheel.namelist()}


def glibc(subdir: str, version: str = "2.17") -> tuple[str, ...]:
    """Return what a package needs of the C library of a platform."""
    return (f"__glibc >={version},<3.0.a0",) if subdir.startswith("linux-") else ()
