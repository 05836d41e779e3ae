"""Where the loader of Linux looks for libraries: what its configuration and a library's own path say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuenv.host.executables import read_text
from gpuenv.wheels.elf import LinkedLibraries

_CONFIGURATION = "etc/ld.so.conf"
_MOST_FILES = 200
_MOST_LINES = 200


def configured_folders(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the directories that the loader's configuration names, and the file in /etc that names each.

    Samples of lines: `/usr/local/cuda/lib64`, `include /etc/ld.so.conf.d/*.conf`, `# a comment`.
    """
    main = root / _CONFIGURATION
    patterns = ["ld.so.conf.d/*.conf"]
    for line in _lines(main):
        words = line.split()
        if words[0] == "include":
            patterns += (word.removeprefix("/etc/") for word in words[1:])
        elif line.startswith("/"):
            yield line, main.name
    for file in dict.fromkeys(file for pattern in patterns for file in _matching(main.parent, pattern)):
        for line in _lines(file):
            if line.startswith("/"):
                yield line, file.relative_to(main.parent).as_posix()


def _matching(folder: Path, pattern: str) -> list[Path]:
    if pattern.startswith("/") or ".." in pattern or "**" in pattern:
        return []
    try:
        return sorted(folder.glob(pattern))[:_MOST_FILES]
    except (OSError, ValueError):
        return []


def _lines(file: Path) -> Iterator[str]:
    for line in (read_text(file) or "").splitlines()[:_MOST_LINES]:
        message = line.partition("#")[0].strip()
        if message:
            yield message


def own_folders(needs: LinkedLibraries, file: Path) -> Iterator[Path]:
    """Yield the directories that a library in `file` itself names: `$ORIGIN/../../nvidia/cudnn/lib`."""
    for path in (needs.rpath, needs.runpath):
        for entry in (path or "").split(":"):
            message = entry.replace("${ORIGIN}", str(file)).replace("$ORIGIN", str(file))
            if message.startswith("/"):
                yield Path(message)
