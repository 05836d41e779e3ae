"""Copy the tree of an environment: no file is shared with the original, so that neither changes the other."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from gpuenv.environments.contents import last_use as usage
from gpuenv.environments.contents.kernels import LIST
from gpuenv.environments.ledger import PREFIXES
from gpuenv.files.disk_space import existing_part, free_bytes
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.process import interruption

_OWN = {usage.FILE_NAME, LIST}  # of the original alone, and what was kept for changes of it
_CHUNK = 16 << 20
# where the system can't copy within the kernel: another file system, an old kernel, a file system without
_NOT_SO = {
    getattr(errno, name)
    for name in ("EXDEV", "EINVAL", "ENOSYS", "EOPNOTSUPP", "ENOTSUP", "EPERM", "EBADF")
    if hasattr(errno, name)
}


class CopiedTree(Struct, frozen=True):
    """What is to be copied: files and links, and folders, by their paths within; bytes in all."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    size: int


def read_tree(root: Path) -> CopiedTree:
    """Look through an environment; raise OSError. Sockets and the like are left out."""
    files, folders, size = [], [], 0
    for path, is_folder, status in _entries(root, ""):
        if is_folder:
            folders.append(path)
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            files.append(path)
            size += status.st_size
    return CopiedTree(tuple(files), tuple(folders), size)


def _entries(root: Path, folder: str) -> Iterator[tuple[str, bool, os.stat_result]]:
    with os.scandir(root / folder) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            if not folder and (entry.name in _OWN or entry.name.startswith(PREFIXES)):
                continue
            path = os.path.join(folder, entry.name)  # noqa: PTH118 - many
            is_folder = entry.is_dir(follow_symlinks=False)
            yield path, is_folder, entry.stat(follow_symlinks=False)
            if is_folder:
                yield from _entries(root, path)


def check_copied_room(tree: CopiedTree, target: Path) -> None:
    """Raise InstallFailed `disk-full` where the copy does not fit."""
    free = free_bytes(target)
    if free is None or tree.size <= free:
        return
    raise InstallFailed(
        tr("the copy needs {needed}, {free} are free", needed=render_size(tree.size), free=render_size(free)),
        code="disk-full",
        because=(Because(tr("{free} bytes are free", free=free), str(existing_part(target))),),
        fixes=(Fix(tr("free disk space, or give a path on a larger disk: `./NAME`")),),
    )


def copy_tree(source: Path, tree: CopiedTree, target: Path, progress: Callable[[int, int], None]) -> None:
    """Copy the tree into the directory `target`, which is empty; raise OSError.

    `progress` is called with the bytes copied and all of them.
    """
    done = 0

    def copied(count: int) -> None:
        nonlocal done
        done += count
        interruption.check()
        progress(done, tree.size)

    for folder in tree.folders:
        (target / folder).mkdir()
    for file in tree.files:
        _copy_file(source / file, target / file, copied)
    for folder in (*reversed(tree.folders), ""):  # last: a folder may be read-only, and times change
        shutil.copystat(source / folder, target / folder)
        (target / folder).chmod((target / folder).stat().st_mode | stat.S_IRWXU)  # the copy is its maker's


def _copy_file(source: Path, target: Path, copied: Callable[[int], None]) -> None:
    if source.is_symlink():
        target.symlink_to(source.readlink())
        copied(0)
        return
    with source.open("rb") as read, target.open("xb") as written:
        while count := _copy_chunk(read.fileno(), written.fileno()):
            copied(count)
    with suppress(PermissionError):  # extended attributes that only root may set
        shutil.copystat(source, target)


def _copy_chunk(source: int, target: int) -> int:
    """Copy the next bytes; file systems that can, share blocks until one of the files changes."""
    if hasattr(os, "copy_file_range"):
        try:
            count = os.copy_file_range(source, target, _CHUNK)
        except OSError as error:
            if error.errno not in _NOT_SO:
                raise
        else:
            if count:
                return count
    chunk = os.read(source, _CHUNK)
    left = memoryview(chunk)
    while left:
        left = left[os.write(target, left) :]
    return len(chunk)
