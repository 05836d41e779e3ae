"""Whether bars are drawn on stderr: on a terminal, unless `--no-progress` is given."""

from __future__ import annotations

import sys
from contextvars import ContextVar

_allowed: ContextVar[bool] = ContextVar("allowed", default=True)


def draw(*, allowed: bool) -> None:
    """Allow bars from now on, or not."""
    _allowed.set(allowed)


def draws() -> bool:
    """Whether bars are drawn, by gpuenv and by the programs that it runs."""
    return _allowed.get() and sys.stderr.isatty()
