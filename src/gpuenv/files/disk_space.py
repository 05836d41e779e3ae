"""Free disk space, and the folders that can be written to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.model.plan import Download

_LEAST = 1_000_000  # bytes: its scripts, what pip is made of, a record; torch takes a hundred times as much


def first_writable(folders: Iterable[str]) -> Path | None:
    """Return the first folder that is writable or could be created; None where there is none."""
    return next((Path(folder) for folder in folders if _can_be_written(Path(folder))), None)


def _can_be_written(folder: Path) -> bool:
    """Write a file without a name, or that loses it at once: permissions tell root and Windows little."""
    try:
        with tempfile.TemporaryFile(dir=existing_part(folder)):
            return True
    except OSError:
        return False


def existing_part(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    while path != path.parent:
        with suppress(OSError):  # a name that is too long, or where nobody may look
            if path.exists():
                break
        path = path.parent
    return path


def free_bytes(path: Path) -> int | None:
    """Return the free bytes of the disk that a path is, or would be, on; None where they are unknown."""
    try:
        return shutil.disk_usage(existing_part(path)).free
    except OSError:
        return None


def check_minimum(path: Path, *fixes: Fix) -> None:
    """Raise InstallFailed `disk-full`, before indexes are read, where no environment at all would fit."""
    message = tr("an environment takes more than {needed}, {free} are free", **_sizes(path, _LEAST))
    _check(path, _LEAST, message, *fixes)


def check_download(path: Path, download: Download, needed: int) -> None:
    """Raise InstallFailed `disk-full` where fewer than `needed` bytes are free for an environment."""
    message = tr(
        "{fetched} must be downloaded, {needed} are needed on disk, {free} are free",
        fetched=render_size(download.size),
        **_sizes(path, needed),
    )
    fix = tr("free disk space, or set GPUENV_DATA_DIR to a directory on a larger disk")
    _check(path, needed, message, Fix(fix))


def check_free_space(path: Path, needed: int, fix: str) -> None:
    """Raise InstallFailed `disk-full` where fewer than `needed` bytes are free for a download."""
    message = tr("{needed} are to be fetched, {free} are free", **_sizes(path, needed))
    _check(path, needed, message, Fix(fix))


def check_unpacked_space(path: Path, size: int, needed: int, fix: str) -> None:
    """Raise InstallFailed `disk-full` where fewer than `needed` bytes are free for a download, unpacked."""
    message = tr(
        "{fetched} are to be fetched, about {needed} are needed with their files unpacked, {free} are free",
        fetched=render_size(size),
        **_sizes(path, needed),
    )
    _check(path, needed, message, Fix(fix))


def is_same_disk(path: Path, other: Path) -> bool:
    """Tell whether two paths are, or would be, on one file system, where files can be linked."""
    try:
        return existing_part(path).stat().st_dev == existing_part(other).stat().st_dev
    except OSError:
        return False


def _sizes(path: Path, needed: int) -> dict[str, str]:
    return {"needed": render_size(needed), "free": render_size(free_bytes(path) or 0)}


def _check(path: Path, needed: int, message: str, *fixes: Fix) -> None:
    free = free_bytes(path)
    if free is not None and free < needed:
        reason = Because(tr("{free} bytes are free", free=free), str(existing_part(path)))
        raise InstallFailed(message, code="disk-full", because=(reason,), fixes=fixes)
