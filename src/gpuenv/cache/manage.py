"""`gpuenv cache`: gpuenv's own cache, and uv's beside it, which others use as well."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuenv.cache.parts import PartContent, RemovalFailure, Tally, read_parts, remove_part
from gpuenv.files.cache_lock import lock_exclusive
from gpuenv.i18n.messages import gettext, tr
from gpuenv.installers import uv
from gpuenv.installers.uv_cache import cache_directory
from gpuenv.model.errors import Fix, UsageError
from gpuenv.process import subprocesses as process
from gpuenv.process.surroundings import cache_root

IN_USE = "in-use"
_CHEAP_ENTRIES = 20_000
_UV_LIMIT_S = 3600.0


class CacheContent(Struct, frozen=True):
    """What is in gpuenv's cache; `freed` is what the disk gains without it."""

    root: Path
    parts: tuple[PartContent, ...]
    freed: int

    @property
    def size(self) -> int:
        """Return the bytes of all parts."""
        return sum(part.size for part in self.parts)


class CleanResult(Struct, frozen=True):
    """What was removed, and what was not."""

    removed: tuple[PartContent, ...]
    in_use: tuple[PartContent, ...]
    failed: tuple[RemovalFailure, ...]


def require_cache_root(environ: Mapping[str, str]) -> Path:
    """Return gpuenv's cache directory, whether it exists or not; raise UsageError where there is none."""
    root = Path(os.path.abspath(cache_root(environ)))  # noqa: PTH100 - a link must stay one
    if Path(os.devnull) in root.parents:
        raise UsageError(
            tr("there is no cache: the home directory is not known"),
            code="no-cache",
            fixes=(Fix(tr("set GPUENV_CACHE_DIR to a writable directory")),),
        )
    return root


def read_cache(environ: Mapping[str, str]) -> CacheContent:
    """Return what is in gpuenv's cache."""
    root, tally = require_cache_root(environ), Tally()
    uv_cache = _uv_cache(environ) if (root / "uv").is_dir() else None
    parts = read_parts(root, tally, uv_cache)
    return CacheContent(root, parts, tally.freed)


def clean(content: CacheContent) -> CleanResult:
    """Remove what was read, except what other commands use at the moment."""
    with lock_exclusive(content.root) as unused:
        removable = [part for part in content.parts if unused or not part.part.guarded]
        failed = tuple(filter(None, (remove_part(part, content.root) for part in removable)))
        if unused:
            with suppress(OSError):  # children start in this folder, which is made again when needed
                (content.root / "empty").rmdir()
    names = {failure.name for failure in failed}
    return CleanResult(
        tuple(part for part in removable if part.part.name not in names),
        tuple(part for part in content.parts if part not in removable),
        failed,
    )


def clean_uv(environ: Mapping[str, str]) -> str:
    """Run `uv cache clean`; return what it printed. Raises UsageError where it fails or uv is missing."""
    done = process.run((uv.find(), "cache", "clean"), timeout_s=_UV_LIMIT_S, environ=environ)
    if not done.ok:
        lines = (done.stderr or done.error or "").strip().splitlines() or [""]
        raise UsageError(
            tr("`uv cache clean` failed: {error}", error=lines[-1].removeprefix("error: ")),
            code="uv-cache",
            fixes=(Fix(tr("see its own error message"), "uv cache clean"),),
        )
    return (done.stdout + done.stderr).strip()


def render_uv(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return where uv's cache is, and its bytes where quickly counted; None where uv does not say."""
    path = _uv_cache(environ)
    return None if path is None else {"dir": str(path), "size": _quick_size(path)}


def render_parts(parts: tuple[PartContent, ...]) -> list[dict[str, Any]]:
    """Return parts as data."""
    return [
        {"name": part.part.name, "use": gettext(part.part.use), "size": part.size, "paths": _outer(part)}
        for part in parts
    ]


def _outer(content: PartContent) -> list[str]:
    """Return the files of a part, and the folders that its entries lie in."""
    folders = {path.parent for path in content.paths if path.parent.name in content.part.folders}
    return sorted(map(str, (*folders, *(path for path in content.paths if path.parent not in folders))))


def _uv_cache(environ: Mapping[str, str]) -> Path | None:
    try:
        uv.find()
    except UsageError:
        return None
    return cache_directory(environ)


def _quick_size(root: Path) -> int | None:
    """Return the bytes of a folder that does not have too many entries."""
    entries = size = 0
    tally = Tally()
    for folder, folders, files in os.walk(root):
        entries += len(folders) + len(files)
        if entries > _CHEAP_ENTRIES:
            return None
        size += sum(tally.add(Path(folder, name)) for name in files)
    return size
