"""The parts of gpuenv's cache: their size, and removing them.

GPUENV_CACHE_DIR may hold other files, so only names that gpuenv itself writes count, and no link is followed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import N_, tr
from gpuenv.on_disk.directories import is_full, remove_tree

_LEFT = "removing-"
_TEMPORARY = r"tmp\w{8}"
_DIGEST = r"[0-9a-f]{64}"


class Part(Struct, frozen=True):
    """Files, and the entries of folders that match `names`; `guarded` while a command may use them."""

    name: str
    use: str
    folders: tuple[str, ...] = ()
    names: str = r".+\.json"
    files: tuple[str, ...] = ()
    guarded: bool = False


PARTS = (
    Part("wheels", N_("wheels fetched from mirrors"), ("wheels",), f"{_DIGEST}|parts", guarded=True),
    Part("pages", N_("pages of indexes, sizes and hashes of files"), ("pages", "http"),
         rf"{_DIGEST}|[0-9a-f]", ("sizes.json", "hashes.json", "default-index.json", "variants.json")),
    Part("channels", N_("repodata of conda channels"), ("channels",)),
    Part("rattler", N_("conda packages and repodata"), ("rattler",), "packages|repodata", guarded=True),
    Part("conda-tools", N_("cached information about conda tools"), ("conda-tools", "condarc"), ".+",
         guarded=True),
    Part("mirrors", N_("measured speed of mirrors"), files=("mirrors.json",)),
    Part("locks", N_("requirements with hashes"), ("locks",), r"[0-9a-f]{32}\.txt", guarded=True),
    Part("environments", N_("sizes of environments"), ("sizes",)),
    Part("uv", N_("uv's configuration and Pythons: its cache if there is no other"), ("uv",),
         r"[0-9a-f]{32}\.toml(\.\d+)?|[a-z-]+-v\d+|CACHEDIR\.TAG|\.gitignore|\.lock|\.git",
         ("uv-pythons.json",), guarded=True),
    Part("private", N_("configuration with passwords, left by a gpuenv that was killed"), ("private",),
         rf"{_TEMPORARY}\S*", guarded=True),
    Part("leftovers", N_("left over from an interrupted `cache clean`"), guarded=True),
)  # fmt: skip


class PartContent(Struct, frozen=True):
    """A part, and its files and folders on disk."""

    part: Part
    paths: tuple[Path, ...]
    size: int


class RemovalFailure(Struct, frozen=True):
    """The part that could not be removed, and why."""

    name: str
    reason: str


class Tally(Struct):
    """Bytes of files, each inode counted once; `freed` are those without hard links elsewhere."""

    links: dict[tuple[int, int], list[int]] = field(default_factory=dict)  # size, link count, links seen
    plain: int = 0

    def add(self, path: Path) -> int:
        """Count a file or a whole folder and return the bytes added; unreadable entries count nothing."""
        counted, waiting = 0, [str(path)]
        while waiting:
            name = waiting.pop()
            with suppress(OSError):
                status = Path(name).lstat()
                if stat.S_ISDIR(status.st_mode):
                    waiting += (entry.path for entry in os.scandir(name))
                else:
                    counted += self._file(status)
        return counted

    def _file(self, status: os.stat_result) -> int:
        if status.st_nlink <= 1:
            self.plain += status.st_size
            return status.st_size
        known = self.links.setdefault((status.st_dev, status.st_ino), [status.st_size, status.st_nlink, 0])
        known[2] += 1
        return status.st_size if known[2] == 1 else 0

    @property
    def freed(self) -> int:
        """Return the bytes that removing all counted files frees."""
        return self.plain + sum(size for size, names, seen in self.links.values() if seen >= names)


def read_parts(root: Path, tally: Tally, uv_cache: Path | None) -> tuple[PartContent, ...]:
    """Return the parts that are not empty; `uv_cache` is uv's own cache, which never counts."""
    results = ((part, tuple(_paths(part, root, uv_cache))) for part in PARTS)
    return tuple(PartContent(part, paths, sum(map(tally.add, paths))) for part, paths in results if paths)


def remove_part(content: PartContent, root: Path) -> RemovalFailure | None:
    """Remove a part; return the first failure."""
    reasons = [reason for path in content.paths if (reason := _remove(path, root))]
    for folder in content.part.folders:
        with suppress(OSError):
            (root / folder).rmdir()
    return RemovalFailure(content.part.name, reasons[0]) if reasons else None


def _remove(path: Path, root: Path) -> str | None:
    """Remove an entry; return why that failed."""
    try:
        _remove_aside(path, root)
    except OSError as error:
        return tr("`{path}`: {error}", path=path, error=reason_of(error))
    return None


def _remove_aside(path: Path, root: Path) -> None:
    """Rename an entry before removing it: an interruption must not leave half of one."""
    if path.name.startswith(_LEFT):
        remove_tree(path)
        return
    aside = root / f"{_LEFT}{secrets.token_hex(8)}"
    try:
        path.replace(aside)  # no folder to move it into: on a full disk none can be made
    except FileNotFoundError:  # another one has removed it
        return
    except OSError as error:
        if error.errno != errno.EXDEV and not is_full(error):  # a disk of its own, no room for another name
            raise
        remove_tree(path)
    else:
        remove_tree(aside)


def _paths(part: Part, root: Path, uv_cache: Path | None) -> Iterable[Path]:
    if part.name == "leftovers":
        yield from _entries(root, re.compile(_LEFT + r"\w+"))
    yield from (root / name for name in part.files if (root / name).is_file())
    names = re.compile(f"{part.names}|{_TEMPORARY}")
    for folder in part.folders:
        if uv_cache is None or os.path.realpath(root / folder) != os.path.realpath(uv_cache):
            yield from _entries(root / folder, names)


def _entries(folder: Path, names: re.Pattern[str]) -> Iterable[Path]:
    """Return the entries of a folder that have such a name; none of a link."""
    try:
        if folder.is_symlink():
            return ()
        return sorted(path for path in folder.iterdir() if names.fullmatch(path.name))
    except OSError:
        return ()
