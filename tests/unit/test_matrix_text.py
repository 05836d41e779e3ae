"""What is written reads back, sorted, one row a line; a newer row takes the place of the older."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpuenv import matrices
from gpuenv.matrix_checks.serialise import merge_rows, render_table, sort_rows


def test_the_committed_files_are_as_the_writer_writes_them() -> None:
    for table in ("torch", "companions"):
        text = (matrices.directory() / f"{table}.json").read_text(encoding="utf-8")
        assert render_table(sort_rows(table, matrices.load(table))) == text


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_rows_come_in_any_order_and_leave_in_one(chance: random.Random, count: int) -> None:
    for table in ("torch", "companions"):
        rows = list(matrices.load(table))[-count:]
        shuffled = chance.sample(rows, len(rows))
        half = len(rows) // 2
        assert merge_rows(table, shuffled[:half], shuffled[half:]) == tuple(rows)


def test_a_newer_row_takes_the_place_of_the_known_one() -> None:
    known: dict[str, Any] = {
        "torch": "2.9.0",
        "variant": "cu126",
        "platform": "linux-64",
        "index": "pypi",
        "note": "a",
    }
    other = known | {"torch": "2.10.0"}
    assert merge_rows("torch", [other, known], [known | {"note": "b"}]) == (known | {"note": "b"}, other)


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3), max_size=5), st.booleans()
)
def test_a_table_reads_back(rows: list[dict[str, str]], dense: bool) -> None:
    text = render_table(rows, dense=dense)
    assert json.loads(text) == {"schema_version": 1, "rows": rows}
    assert text.count("\n") == max(len(rows), 1) + 5
