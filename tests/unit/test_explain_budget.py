"""A text that has the words of everything is searched for as long as its budget lasts, and that is told."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from explaining import explain

from gpuenv.explanation.load_tables import load_signatures
from gpuenv.signatures.match import examine

SIGNATURES = load_signatures()
LOG = """\
RuntimeError: CUDA error: no kernel image is available for execution on the device
ImportError: libGL.so.1: cannot open shared object file: No such file
"""
HOSTILE = " ".join(
    word
    for signature in SIGNATURES
    for pattern in signature.patterns
    for way in pattern.needs[:1]
    for word in way.words
)[:117_000]


def clock(lasts: int) -> Callable[[], float]:
    """Return a clock that stands still for so many looks, and then is far ahead."""
    looks = iter(range(lasts))
    return lambda: 0.0 if next(looks, None) is not None else 1e9


def test_within_its_budget_a_text_is_looked_through() -> None:
    examined = examine(LOG, SIGNATURES, clock(1_000_000))
    assert examined.whole
    assert examined.matches == explain(LOG, SIGNATURES)
    assert len(examined.matches) > 1


def test_what_was_found_before_the_budget_is_gone_is_told() -> None:
    whole = explain(LOG, SIGNATURES)
    looks = next(count for count in range(2, 1000) if examine(LOG, SIGNATURES, clock(count)).matches)
    examined = examine(LOG, SIGNATURES, clock(looks))
    assert not examined.whole
    assert {match.id for match in examined.matches} < {match.id for match in whole}


def test_without_a_budget_nothing_is_searched() -> None:
    examined = examine(LOG, SIGNATURES, clock(1))
    assert (examined.matches, examined.whole) == ((), False)


@pytest.mark.slow
def test_a_text_with_the_words_of_everything_ends_and_says_that_lines_are_left_out() -> None:
    examined = examine(HOSTILE, SIGNATURES, time.process_time)
    assert not examined.whole
    assert examined.matches, "what tells most is looked for first"
