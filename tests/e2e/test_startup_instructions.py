"""What is started often takes hardly more instructions than when it was last measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import instructions
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind counts")]

_MAY_GROW = 1.2
_RECORDED = json.loads(instructions.RECORDED.read_text(encoding="utf-8"))


@pytest.mark.skipif(instructions.PYTHON not in _RECORDED, reason="recorded for other Pythons")
@pytest.mark.parametrize("line", instructions.LINES)
def test_a_start_takes_at_most_a_fifth_more_than_recorded(line: str, tmp_path: Path) -> None:
    recorded = _RECORDED[instructions.PYTHON][line]
    measured = instructions.ratios((line,), tmp_path)[line]
    again = "faster or meant so: python tests/support/instructions.py"
    assert measured <= recorded * _MAY_GROW, f"{measured} x a typer application, was {recorded}; {again}"
    assert measured * _MAY_GROW >= recorded, f"{measured} x a typer application, was {recorded}; {again}"
