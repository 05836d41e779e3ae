"""Of many cases that are alike, a few each time; the others are marked `slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

_SLOW = pytest.mark.slow


def every(step: int, cases: Iterable[Any], *, first: int = 0) -> list[Any]:
    """Return the cases as parameters of a test, all but each `step`-th of them slow."""
    return [case if at % step == first % step else _slow(case) for at, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    if hasattr(case, "marks"):  # a pytest.param
        return case._replace(marks=(*case.marks, _SLOW))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=_SLOW)
