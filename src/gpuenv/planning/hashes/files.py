"""Requirements files with hashes, kept in the cache for the installer: the steps of a plan name them."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from gpuenv.environments.wheel_cache import unwritable
from gpuenv.files.cache_lock import lock_shared
from gpuenv.on_disk.replace import replace_file
from gpuenv.process.surroundings import writable_cache


def keep_hashes(text: str, environ: Mapping[str, str]) -> Path:
    """Keep the file by what is in it; raise UsageError where the cache can't be written."""
    cache = writable_cache(environ)
    lock_shared(cache)
    path = cache / "locks" / f"{sha256(text.encode()).hexdigest()[:32]}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as error:
        raise unwritable(path, error) from None
    return path
