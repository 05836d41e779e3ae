"""Find programs on PATH without starting them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

_ENDINGS = (".exe", ".bat") if sys.platform == "win32" else ("",)


class Tree(Protocol):
    """A path among a machine's files: pathlib's own, or what a machine elsewhere told (`machine.told`)."""

    @property
    def name(self) -> str:
        """Its last part."""

    def __truediv__(self, part: str, /) -> Tree: ...

    def is_file(self) -> bool:
        """Whether it is a file, which may be read."""

    def exists(self) -> bool:
        """Whether anything is there."""

    def iterdir(self) -> Iterable[Tree]:
        """Return what is in a folder; raise OSError."""

    def readlink(self) -> Tree:
        """Return where a link leads to; raise OSError."""

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """Open a file; raise OSError."""


def path_directories(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return PATH's directories in order, once each, without relative ones: what they mean changes."""
    entries = environ.get("PATH", "").split(os.pathsep)
    return tuple(dict.fromkeys(Path(entry) for entry in entries if entry and Path(entry).is_absolute()))


def find_executable(name: str, environ: Mapping[str, str]) -> Path | None:
    """Return the first file on PATH called `name` that may be executed."""
    return next(find_executables(name, path_directories(environ)), None)


def find_executables(name: str, directories: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the files called `name` (on Windows with an ending) in these directories that may be executed."""
    for directory in directories:
        for ending in _ENDINGS:
            candidate = directory / f"{name}{ending}"
            if is_executable(candidate):
                yield candidate


def is_executable(path: Path) -> bool:
    """Tell whether `path` is a file (or leads to one) that may be executed."""
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):  # ValueError: an embedded null byte
        return False


def is_there(path: Tree) -> bool:
    """Tell whether a file exists; one that may not be looked at counts as none."""
    try:
        return path.exists()
    except OSError:  # before Python 3.12 a folder without permission raises
        return False


def home_directory(environ: Mapping[str, str]) -> Path | None:
    """Return the user's home as the environment names it."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home) if home else None


def read_text(path: Tree, limit: int = 65536) -> str | None:
    """Return the start of a file as text, None where it can't be read; a pipe would never end."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return None
