"""Where on the disks there is room to write, and how much."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gpuenv.i18n.messages import tr
from gpuenv.model.amounts import render_size
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.model.plan import Download

_LEAST = 1_000_000  # bytes: its scripts, what pip is made of, a record; torch takes a hundred times as much


def first_writable(folders: Iterable[str]) -> Path | None:
    """Return the first folder that can be written, or could be made; None where there is none."""
    return next((Path(folder) for folder in folders if _can_be_written(Path(folder))), None)


def _can_be_written(folder: Path) -> bool:
    """Write a file without a name, or that loses it at once: permissions tell root and Windows little."""
    try:
        with tempfile.TemporaryFile(dir=existing_part(folder)):
            return True
    except OSError:
        return False


def existing_part(path: Path) -> Path:
    """Return the path, or where it is not there yet, the nearest folder above it that is."""
    while path != path.parent:
        with suppress(OSError):  # a name that is too long, or where nobody may look
            if path.exists():
                break
        path = path.parent
    return path


def free_bytes(path: Path) -> int | None:
    """Return the bytes that are free where a path lies, or would; None where the system does not tell."""
    try:
        return shutil.disk_usage(existing_part(path)).free
    except OSError:
        return None


def check_least(path: Path, *fixes: Fix) -> None:
    """Raise InstallFailed `disk-full` where a disk has not even room for what every environment takes.

    How much one takes is known when indexes were read; that nothing fits need not wait for that.
    """
    free = free_bytes(path)
    if free is None or free >= _LEAST:
        return
    raise InstallFailed(
        tr("an environment takes more than {needed}, {free} are free", needed=render_size(_LEAST),
           free=render_size(free)),
        code="disk-full",
        because=(Because(tr("{free} bytes are free", free=free), str(existing_part(path))),),
        fixes=fixes,
    )  # fmt: skip


def check_brought(path: Path, download: Download, needed: int) -> None:
    """Raise InstallFailed `disk-full` when fewer than `needed` bytes are free where a path lies."""
    free = free_bytes(path)
    if free is None or needed <= free:
        return
    raise InstallFailed(
        tr(
            "{fetched} must be downloaded, {needed} are needed on disk, {free} are free",
            fetched=render_size(download.size),
            needed=render_size(needed),
            free=render_size(free),
        ),
        code="disk-full",
        because=(Because(tr("{free} bytes are free", free=free), str(existing_part(path))),),
        fixes=(Fix(tr("free disk space, or set GPUENV_DATA_DIR to a directory on a larger disk")),),
    )


def check_room(path: Path, needed: int, way_out: str) -> None:
    """Raise InstallFailed `disk-full` when fewer than `needed` bytes are free where a path lies.

    `way_out` says what its owner can do.
    """
    there = existing_part(path)
    free = shutil.disk_usage(there).free
    if needed > free:
        raise InstallFailed(
            tr(
                "{needed} are to be fetched, {free} are free",
                needed=render_size(needed),
                free=render_size(free),
            ),
            code="disk-full",
            because=(Because(tr("{free} bytes are free", free=free), str(there)),),
            fixes=(Fix(way_out),),
        )
