"""Wheels that gpuenv fetched itself, in its cache: each in a folder named by its digest.

wheels/5d1f…/torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl    whole and right
wheels/parts/5d1f….part, 5d1f….lock                                      on its way
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath, PureWindowsPath

from filelock import FileLock, Timeout

from gpuenv.files.cache_lock import lock_shared
from gpuenv.http.timeouts import StoppedError, Watch
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, InstallFailed, UsageError
from gpuenv.on_disk.directories import remove_tree

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1 << 20
_POLL_S = 0.2
_DAY_S = 86400.0
KEPT_BYTES = 8 << 30  # some four torch stacks
KEPT_S = 30 * _DAY_S
_PARTS_KEPT_S = 7 * _DAY_S


class WheelStore:
    """The folder of fetched wheels. Raises UsageError where it can't be written."""

    def __init__(self, cache: Path) -> None:
        self.root = cache / "wheels"
        self._parts = self.root / "parts"
        lock_shared(cache)
        try:
            self._parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.root, error) from None

    def folder(self, digest: str) -> Path:
        """Return where the file of a digest lies: an installer takes it as a wheelhouse."""
        if not _DIGEST.fullmatch(digest):
            raise ValueError(tr("`{digest}` is not a valid sha256", digest=digest))
        return self.root / digest

    def find(self, digest: str, filename: str, watch: Watch) -> Path | None:
        """Return a file that is there and right; one that is not right is removed."""
        path = self.folder(digest) / filename
        if not path.is_file():
            return None
        if digest_of(path, watch) != digest:
            watch.received(-path.stat().st_size)
            remove_tree(path.parent)
            return None
        now = time.time()
        with suppress(OSError):
            os.utime(path.parent, (now, now))
        return path

    def part(self, key: str) -> Path:
        """Return where a file is collected; `key` is its digest, or stands for its address."""
        return self._parts / f"{key}.part"

    def keep(self, part: Path, digest: str, filename: str) -> Path:
        """Move a file that is whole into its folder, in one step."""
        folder = self.folder(digest)
        folder.mkdir(exist_ok=True)
        return part.replace(folder / filename)

    @contextmanager
    def locked(self, key: str, watch: Watch, waiting: Callable[[], None]) -> Iterator[None]:
        """Let one process at a time collect a file; `waiting` is called where another one does."""
        lock = FileLock(self._parts / f"{key}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting()
            _wait(lock, watch)
        try:
            yield
        finally:
            lock.release()

    def check_space(self, wanted: tuple[tuple[str | None, int], ...]) -> None:
        """Raise InstallFailed unless what is missing of these files (digest, bytes) fits on the disk."""
        needed = sum(max(0, size - self._there(digest, size)) for digest, size in wanted)
        free = shutil.disk_usage(self.root).free
        if needed > free:
            raise InstallFailed(
                tr(
                    "{needed} must be downloaded to `{path}`, {free} are free",
                    needed=render_size(needed),
                    free=render_size(free),
                    path=self.root,
                ),
                code="disk-full",
                fixes=(Fix(tr("free disk space, or set GPUENV_CACHE_DIR to a directory on a larger disk")),),
            )

    def _there(self, digest: str | None, size: int) -> int:
        if digest is None:
            return 0
        if self.folder(digest).is_dir():
            return size
        part = self.part(digest)
        return part.stat().st_size if part.is_file() else 0

    def prune(self) -> None:
        """Remove what was not used for long, then the oldest until the rest is within bounds.

        What was used within a day stays: another gpuenv's installer may be reading it.
        """
        now = time.time()
        for path in self._parts.iterdir():
            if _age_s(path, now) > _PARTS_KEPT_S:
                _drop(path)
        folders = (path for path in self.root.iterdir() if _DIGEST.fullmatch(path.name))
        kept = 0
        for age_s, folder in sorted((_age_s(folder, now), folder) for folder in folders):
            kept += _size_of(folder)
            if age_s > KEPT_S or (kept > KEPT_BYTES and age_s > _DAY_S):
                _drop(folder)


def kept_wheel(cache: Path, digest: str | None, filename: str) -> Path | None:
    """Return where the store of a cache has a file, by its name: its bytes are not read."""
    known = plain_digest(digest)
    path = cache / "wheels" / known / filename if known and is_plain(filename) else None
    return path if path and path.is_file() else None


def key_of(digest: str | None, url: str) -> str:
    """Return what stands for a file in the names of its part and its lock."""
    return digest or f"url-{sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def plain_digest(text: str | None) -> str | None:
    """Return a digest as the store spells it, None for an invalid one."""
    spelled = (text or "").strip().lower()
    return spelled if _DIGEST.fullmatch(spelled) else None


def is_plain(filename: str) -> bool:
    """Tell whether a wheel's name is a file name on every system, and no way out of a folder."""
    names = {PurePosixPath(filename).name, PureWindowsPath(filename).name, filename}
    return len(names) == 1 and filename.endswith(".whl") and "\0" not in filename


def digest_of(path: Path, watch: Watch) -> str:
    """Return the sha256 of a file, reported to `watch` as it is read."""
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            watch.received(len(chunk))
    return digest.hexdigest()


def _wait(lock: FileLock, watch: Watch) -> None:
    while True:
        if watch.is_stopped:
            raise StoppedError
        with suppress(Timeout):
            lock.acquire(timeout=_POLL_S, poll_interval=_POLL_S / 2)
            return


def _age_s(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except OSError:
        return 0.0


def _size_of(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.iterdir())
    except OSError:
        return 0


def _drop(path: Path) -> None:
    with suppress(OSError):  # it goes another day
        remove_tree(path)


def unwritable(path: Path, error: OSError) -> UsageError:
    """Say that the cache can't be written."""
    return UsageError(
        tr("`{path}` cannot be written: {error}", path=path, error=reason_of(error)),
        code="cache-unwritable",
        fixes=(Fix(tr("set GPUENV_CACHE_DIR to a writable directory")),),
    )
