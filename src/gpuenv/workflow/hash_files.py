"""Requirements files with hashes, kept in the cache for the installer: the steps of a plan name them."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from gpuenv.cache_use import hold
from gpuenv.environments.record import replace_file
from gpuenv.environments.wheel_store import unwritable
from gpuenv.http import cache_directory


def keep_hashes(text: str, environ: Mapping[str, str]) -> Path:
    """Keep the file by what is in it; raise UsageError where the cache can't be written."""
    hold(cache_directory(environ))
    path = cache_directory(environ) / "locks" / f"{sha256(text.encode()).hexdigest()[:32]}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as error:
        raise unwritable(path, error) from None
    return path
