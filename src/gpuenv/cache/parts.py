"""What gpuenv keeps in its cache, part by part: how much it is, and taking it away.

GPUENV_CACHE_DIR may be a folder with other things in it. So only entries with names as gpuenv writes them
count, and no link is followed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gpuenv.environments.folders.full_disk import is_full
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import N_, tr
from gpuenv.on_disk.directories import remove_tree

_LEFT = "removing-"
_TEMPORARY = r"tmp\w{8}"
_DIGEST = r"[0-9a-f]{64}"


@dataclass(frozen=True, slots=True)
class Part:
    """Files and folders of one use, directly in the cache; of a folder the entries that `names` matches.

    `guarded`: a running command may name them to an installer. Others are read whole and moved into place
    whole, so that they can be removed at any time.
    """

    name: str
    use: str
    folders: tuple[str, ...] = ()
    names: str = r".+\.json"
    files: tuple[str, ...] = ()
    guarded: bool = False


PARTS = (
    Part("wheels", N_("wheels fetched from mirrors"), ("wheels",), f"{_DIGEST}|parts", guarded=True),
    Part("pages", N_("pages of indexes, sizes and hashes of files"), ("http",), r"[0-9a-f]",
         ("sizes.json", "hashes.json")),
    Part("channels", N_("repodata of conda channels"), ("channels",)),
    Part("rattler", N_("conda packages and repodata"), ("rattler",), "packages|repodata", guarded=True),
    Part("conda-tools", N_("cached information about conda tools"), ("conda-tools", "condarc"), ".+",
         guarded=True),
    Part("mirrors", N_("measured speed of mirrors"), files=("mirrors.json",)),
    Part("locks", N_("requirements with hashes"), ("locks",), r"[0-9a-f]{32}\.txt", guarded=True),
    Part("environments", N_("sizes of environments"), ("sizes",)),
    Part("uv", N_("uv's configuration: its cache if there is no other"), ("uv",),
         r"[0-9a-f]{32}\.toml(\.\d+)?|[a-z-]+-v\d+|CACHEDIR\.TAG|\.gitignore|\.lock|\.git", guarded=True),
    Part("private", N_("configuration with passwords, left by a gpuenv that was killed"), ("private",),
         rf"{_TEMPORARY}\S*", guarded=True),
    Part("leftovers", N_("left over from an interrupted `cache clean`"), guarded=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filled:
    """A part with what of it is there."""

    part: Part
    paths: tuple[Path, ...]
    size: int


@dataclass(frozen=True, slots=True)
class NotRemoved:
    """What was not removed, and why."""

    name: str
    reason: str


@dataclass(slots=True)
class Tally:
    """Bytes of files, a file of several names once; `freed` of them are not also somewhere else."""

    links: dict[tuple[int, int], list[int]] = field(default_factory=dict)  # size, names of it, names seen
    plain: int = 0

    def add(self, path: Path) -> int:
        """Count a file or all of a folder; return what that adds. What can't be read counts nothing."""
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
        """Return the bytes that the disk has more without all that was counted."""
        return self.plain + sum(size for size, names, seen in self.links.values() if seen >= names)


def filled_parts(root: Path, tally: Tally, own_of_uv: Path | None) -> tuple[Filled, ...]:
    """Return the parts of which something is there; `own_of_uv` is uv's cache, no part wherever it lies."""
    results = ((part, tuple(_paths(part, root, own_of_uv))) for part in PARTS)
    return tuple(Filled(part, paths, sum(map(tally.add, paths))) for part, paths in results if paths)


def remove_part(filled: Filled, root: Path) -> NotRemoved | None:
    """Remove a part; return what could not be removed.

    Its entries are moved aside first: what an interruption leaves is half of nothing that is read.
    """
    reasons = [reason for path in filled.paths if (reason := _remove(path, root)) is not None]
    for folder in filled.part.folders:
        with suppress(OSError):
            (root / folder).rmdir()
    return NotRemoved(filled.part.name, reasons[0]) if reasons else None


def remove_empty(root: Path) -> None:
    """Remove the folder that children start in, where it is empty; it comes back when it is needed."""
    with suppress(OSError):
        (root / "empty").rmdir()


def _remove(path: Path, root: Path) -> str | None:
    """Remove a file or folder; return why that is not possible."""
    try:
        _remove_aside(path, root)
    except OSError as error:
        return tr("`{path}`: {error}", path=path, error=reason_of(error))
    return None


def _remove_aside(path: Path, root: Path) -> None:
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


def _paths(part: Part, root: Path, own_of_uv: Path | None) -> Iterable[Path]:
    if part.name == "leftovers":
        yield from _entries(root, re.compile(_LEFT + r"\w+"))
    yield from (root / name for name in part.files if (root / name).is_file())
    names = re.compile(f"{part.names}|{_TEMPORARY}")
    for folder in part.folders:
        if not _is_same(root / folder, own_of_uv):
            yield from _entries(root / folder, names)


def _entries(folder: Path, names: re.Pattern[str]) -> Iterable[Path]:
    """Return what in a folder, which is no link, has such a name."""
    try:
        if folder.is_symlink():
            return ()
        return sorted(path for path in folder.iterdir() if names.fullmatch(path.name))
    except OSError:
        return ()


def _is_same(folder: Path, other: Path | None) -> bool:
    return other is not None and os.path.realpath(folder) == os.path.realpath(other)
