"""Read a machine's files, whatever their permissions, and find programs on PATH."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol

from gpuenv.process.surroundings import find_executable, find_executables, is_executable, path_directories

if TYPE_CHECKING:
    from gpuenv.process.subprocesses import Completed

__all__ = [
    "FileTree", "RunProgram", "find_executable", "find_executables", "home_directory", "is_executable",
    "is_there", "path_directories", "read_text",
]  # fmt: skip


class RunProgram(Protocol):
    """Run a program of PATH by its name; None where there is none."""

    def __call__(self, name: str, *arguments: str, timeout_s: float) -> Completed | None:
        """Return what it printed."""


class FileTree(Protocol):
    """A path of this machine (pathlib) or of a remote one (`host.remote`)."""

    @property
    def name(self) -> str:
        """Its last part."""

    def __truediv__(self, part: str, /) -> FileTree: ...

    def is_file(self) -> bool:
        """Whether it is a file."""

    def exists(self) -> bool:
        """Whether it exists."""

    def iterdir(self) -> Iterable[FileTree]:
        """Return the entries of a folder; raise OSError."""

    def readlink(self) -> FileTree:
        """Return the target of a link; raise OSError."""

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """Open a file; raise OSError."""


def is_there(path: FileTree) -> bool:
    """Tell whether a file exists, as far as permissions allow."""
    try:
        return path.exists()
    except OSError:  # before Python 3.12 a folder without permission raises
        return False


def home_directory(environ: Mapping[str, str]) -> Path | None:
    """Return the user's home directory of the variables."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home) if home else None


def read_text(path: FileTree, limit: int = 65536) -> str | None:
    """Return the start of a regular file as text, None where it cannot be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return None
