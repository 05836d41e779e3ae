"""The code beside the dependency files: read to see which changes of an API concern it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gpuenv.adapt.risks.code_text import NOTEBOOK, language_of, parse_notebook
from gpuenv.i18n.messages import N_, tr

_LARGEST = 2 << 20  # bytes of a file: what is larger is data, or made by a program
_ALL = 24 << 20
_MOST_FILES = 4_000
_MOST_FOLDERS = 8_000
_NOT_CODE = frozenset(
    {
        "node_modules", "__pycache__", "site-packages", "dist-packages", "venv", "env", "envs", "build",
        "dist", "wandb", "lightning_logs",
    }
)  # fmt: skip
_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


class ProjectCode(Struct, frozen=True):
    """The texts found, each with its path as shown; a cell of a notebook is `notes.ipynb[3]`.

    `warnings` tell what was passed over.
    """

    texts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()


def read_code(folder: Path) -> ProjectCode:
    """Read the code in a folder and below: Python, notebooks, shell, C++ and CUDA.

    Hidden folders, environments, links and what is no regular file are left out. Of much code the beginning
    is read, in the order of the names. What can't be read is passed over.
    """
    texts: list[tuple[str, str]] = []
    left = _ALL
    for number, path in enumerate(_code_files(folder)):
        data = _read(path) if path else b""
        left -= len(data)
        if path is None or number >= _MOST_FILES or left < 0:
            template = N_("`{folder}` has more code than is examined: {count} files were read")
            return ProjectCode(tuple(texts), (tr(template, folder=folder, count=number),))
        texts += _texts(path.relative_to(folder).as_posix(), data)
    return ProjectCode(tuple(texts))


def _code_files(folder: Path) -> Iterator[Path | None]:
    """Yield the files of code; None where there are more folders than are looked into."""
    for number, (at, folders, names) in enumerate(os.walk(folder)):
        if number >= _MOST_FOLDERS:
            yield None
            return
        folders[:] = sorted(name for name in folders if _may_hold_code(Path(at, name)))
        yield from (Path(at, name) for name in sorted(names) if language_of(name))


def _may_hold_code(folder: Path) -> bool:
    name = folder.name
    if name.startswith(".") or name.lower() in _NOT_CODE or name.endswith(".egg-info"):
        return False
    return not any(os.path.lexists(folder / known) for known in _OF_ENVIRONMENTS)


def _read(path: Path) -> bytes:
    """Return the bytes of a regular file that is not too large; none of another."""
    try:
        status = path.lstat()
        is_read = stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST
        return path.read_bytes() if is_read else b""
    except OSError:
        return b""


def _texts(shown: str, data: bytes) -> Iterator[tuple[str, str]]:
    if not data or b"\0" in data:
        return
    text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    if not shown.lower().endswith(NOTEBOOK):
        yield shown, text
        return
    try:
        yield from ((f"{shown}[{number}]", cell) for number, cell in parse_notebook(text))
    except ValueError:
        return  # a notebook that is none: nothing in it runs
