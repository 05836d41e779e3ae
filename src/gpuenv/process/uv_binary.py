"""Where the uv that comes with gpuenv is."""

from __future__ import annotations

import threading
from functools import cache

# sysconfig, which uv asks, hands out half-made variables to a second thread
# https://github.com/python/cpython/issues/92452
_one_at_a_time = threading.Lock()


def find_embedded_uv() -> str | None:
    """Return the path of the uv executable that was installed with gpuenv, None if there is none."""
    with _one_at_a_time:
        return _find()


@cache
def _find() -> str | None:
    try:
        from uv import find_uv_bin  # noqa: PLC0415 - only where uv is used
    except ImportError:
        return None
    try:
        return str(find_uv_bin())
    except FileNotFoundError:
        return None
