"""uv's cache: where it is, and which wheels are in it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from packaging.utils import canonicalize_name

from gpuenv.indexes.configuration.uv_settings import settings_file
from gpuenv.installers import uv
from gpuenv.process import subprocesses as process
from gpuenv.process.surroundings import absolute_variables

_LIMIT_S = 20.0


def cache_directory(environ: Mapping[str, str]) -> Path | None:
    """Return uv's cache, None if it is disabled or unknown; uv is asked only where a file may name one."""
    if environ.get("UV_NO_CACHE", "") not in {"", "0", "false"}:
        return None
    known = known_cache(environ)
    if known is not None:
        return known
    try:
        return _asked(uv.find(), tuple(sorted(environ.items())))
    except LookupError:
        return None


def known_cache(environ: Mapping[str, str]) -> Path | None:
    """Return the cache as uv's rules give it; None where a configuration file may name another.

    https://docs.astral.sh/uv/concepts/cache/#cache-directory
    """
    variables = absolute_variables(environ)
    if (named := variables.get("UV_CACHE_DIR")) is not None:
        return _absolute(named)
    if sys.platform != "linux" or settings_file(environ) is not None:
        return None
    folder = _absolute(variables.get("XDG_CACHE_HOME", "")) or _absolute(variables.get("HOME", ""), ".cache")
    return folder / "uv" if folder else None


def _absolute(text: str, *further: str) -> Path | None:
    path = Path(text, *further)
    return path if path.is_absolute() else None


@cache
def _asked(program: str, environ: tuple[tuple[str, str], ...]) -> Path:
    """Ask uv once; raise LookupError, which is not remembered, where it gives no answer."""
    completed = process.run((program, "cache", "dir"), timeout_s=_LIMIT_S, environ=dict(environ))
    if not completed.ok or not completed.stdout.strip():
        raise LookupError
    return Path(completed.stdout.strip())


def cached_wheels(filenames: Iterable[str], environ: Mapping[str, str]) -> frozenset[str]:
    """Return which of the wheels are in uv's cache, whose layout is that of uv up to 0.13.

    wheels-v5/pypi/filelock/3.20.0-py3-none-any.http, wheels-v5/index/3c2f.../torch/2.9.1+cu126-cp312-....http
    wheels-v5/index/c1ea.../torch/2.9.1+cu126-cp312-....rev    where the wheel was a file on this disk
    """
    found = cache_directory(environ)
    folders = [] if found is None else [*found.glob("wheels-v*/pypi"), *found.glob("wheels-v*/index/*")]

    def is_cached(filename: str) -> bool:
        name, _, rest = filename.removesuffix(".whl").partition("-")
        pointers = (f"{canonicalize_name(name)}/{rest}.{ending}" for ending in ("http", "rev"))
        return any((folder / pointer).is_file() for pointer in pointers for folder in folders)

    return frozenset(filter(is_cached, filenames))
