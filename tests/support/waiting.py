"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], object]) -> None:
    """Return as soon as it holds; fail where it does not within a minute."""
    ends = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < ends, holds
        time.sleep(0.01)
