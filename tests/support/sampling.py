"""Of many cases that are alike, a few each time; the others are marked `slow`, or `campaign`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, cases: Iterable[Any], *, first: int = 0, others: str = "slow") -> list[Any]:
    """Return the cases as parameters of a test, all but each `step`-th of them marked as `others`."""
    return [case if at % step == first % step else _marked(case, others) for at, case in enumerate(cases)]


def _marked(case: Any, name: str) -> Any:
    mark = getattr(pytest.mark, name)
    if hasattr(case, "marks"):  # a pytest.param
        return case._replace(marks=(*case.marks, mark))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
