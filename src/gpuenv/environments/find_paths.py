"""Find what in a virtual environment names its own path, and what it says at another."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gpuenv.environments.rewrite_paths import (
    Move,
    moved_path,
    relocated,
    relocated_activation,
    relocated_configuration,
    relocated_record,
)
from gpuenv.on_disk.installed import site_packages
from gpuenv.on_disk.places import RECORD

_LARGEST = 4 << 20  # bytes of a script, of which a launcher with a zip behind it is the longest
_LONGEST_RECORD = 64 << 20
_TEXTS = ("bin", "etc", "share")  # what installers write for one place; packages themselves don't
_STARTUP = (".pth", ".py", ".egg-link")


class Rewritten(Struct, frozen=True):
    """A file by its path within the environment and its new content, or a link's new target."""

    path: str
    content: bytes = b""
    link: str | None = None


def rewritten_files(root: Path, move: Move) -> tuple[Rewritten, ...]:
    """Return what has to be rewritten in the environment that lies at `root` now; raise OSError.

    gpuenv's own record is not among it.
    """
    files = [rewritten for path in _texts(root) if (rewritten := _rewritten(root, path, move)) is not None]
    contents = {file.path: file.content for file in files}
    return (*files, *_records(root, contents), *_links(root, move))


def _texts(root: Path) -> Iterator[Path]:
    yield from (path for path in sorted(root.iterdir()) if path.name != RECORD)
    for folder in _TEXTS:
        for where, _, names in os.walk(root / folder):
            yield from (Path(where, name) for name in sorted(names))
    for packages in site_packages(root):
        yield from (path for path in sorted(packages.iterdir()) if path.suffix in _STARTUP)
        yield from sorted(packages.glob("*.dist-info/direct_url.json"))


def _rewritten(root: Path, path: Path, move: Move) -> Rewritten | None:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        return None
    content, name = path.read_bytes(), str(path.relative_to(root))
    if name == "pyvenv.cfg":
        new = relocated_configuration(content, move)
    elif path.parent == root / "bin" and path.name.lower().startswith("activate"):
        new = relocated_activation(content, move)
    else:
        new = relocated(content, move)
    return Rewritten(name, new) if new != content else None


def _records(root: Path, contents: dict[str, bytes]) -> Iterator[Rewritten]:
    for packages in site_packages(root):
        named = {os.path.relpath(root / path, packages): content for path, content in contents.items()}
        for record in sorted(packages.glob("*.dist-info/RECORD")) if named else ():
            status = record.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST_RECORD:
                continue
            text = record.read_bytes().decode("utf-8", "surrogateescape")
            new = relocated_record(text, named)
            if new != text:
                yield Rewritten(str(record.relative_to(root)), new.encode("utf-8", "surrogateescape"))


def _links(root: Path, move: Move) -> Iterator[Rewritten]:
    """Yield links that lead to the environment itself by an absolute path."""
    folders = [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    target = moved_path(str(Path(entry.path).readlink()), move)
                    if target is not None:
                        yield Rewritten(os.path.relpath(entry.path, root), link=target)
                elif entry.is_dir():
                    folders.append(entry.path)
