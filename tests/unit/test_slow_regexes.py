"""No expression of the error texts takes exponentially long; gaps that share letters are bounded."""

from __future__ import annotations

import importlib
import re

import matrix_workshop
import pytest

from gpuenv import matrices

assert matrix_workshop.TOOLS.is_dir()  # which can be imported from once that module is
UnusableFacts = importlib.import_module("matrix_tables.facts").UnusableFacts
refuse_slow = importlib.import_module("matrix_tables.signatures").refuse_slow
slow_regexes = importlib.import_module("matrix_tables.slow_regexes")
bounded, is_exponential = slow_regexes.bounded, slow_regexes.is_exponential
shares_letters = slow_regexes.shares_letters


@pytest.mark.parametrize("regex", [r"(?:\w+)*x", "(a|b+)+c", r"(?:a*b*)*", r"((?:\d+)+)!"])
def test_a_repeated_repetition_is_refused_with_its_row(regex: str) -> None:
    assert is_exponential(regex)
    row = {"id": "some-row", "patterns": [{"regex": regex}], "unless": [], "reads": []}
    with pytest.raises(UnusableFacts, match="some-row"):
        refuse_slow([row])


@pytest.mark.parametrize("regex", [r"a(?:\.\w+)*b", r"(?:\w+ )+", r"a{2,3}b*", r"[^']+: \d+"])
def test_a_repetition_with_something_certain_in_it_is_none(regex: str) -> None:
    assert not is_exponential(regex)


@pytest.mark.parametrize(
    "regex",
    [
        r"\w*Output\w*",
        "a.*b.*c",
        r"[^\n]*x\s*\S*",
        r"(?:a+|b*)c*a+",
        r"\w*(?:Model)?\w*",
        r"(?:\w+_)?x\w*",
        r"[a-f]+(?:ab|cd)[e-h]+",
    ],
)
def test_repeats_that_share_letters_are_refused_with_their_row(regex: str) -> None:
    assert shares_letters(regex)
    row = {"id": "some-row", "patterns": [], "unless": [], "reads": [regex]}
    with pytest.raises(UnusableFacts, match="some-row"):
        refuse_slow([row])


@pytest.mark.parametrize("regex", [r"\w+ \w+", r"\d+\.\d+", "[^']*'[^']*'", "(?:a+|b+)c", r"\w{0,60}x\w*"])
def test_what_ends_a_repeat_leaves_one_way(regex: str) -> None:
    assert not shares_letters(regex)


def test_repeats_that_share_letters_get_an_end_each() -> None:
    assert bounded(r"'\w+Output\w*' of [.\d]+") == r"'\w{1,60}Output\w{0,60}' of [.\d]{1,200}"
    assert bounded(r"a[\w.-]*\.py\S*") == r"a[\w.-]{0,200}\.py\S{0,200}"
    assert bounded(r"\d+ \w+ \d+") == r"\d+ \w+ \d+"


def test_a_gap_before_another_has_an_end() -> None:
    assert bounded(r"lib\S*.{0,200}: cannot") == r"lib\S{0,80}.{0,200}: cannot"
    assert bounded(r"\w+Error.*") == r"\w{1,40}Error.*"
    assert bounded(r"[\S*.*] \\S*") == r"[\S*.*] \\S*"


@pytest.mark.slow
def test_the_matrix_is_bounded() -> None:
    for row in matrices.load("signatures"):
        for regex in (*(item["regex"] for item in (*row["patterns"], *row["unless"])), *row["reads"]):
            assert bounded(regex) == regex
            assert not is_exponential(regex)
            assert not shares_letters(regex)
            re.compile(regex)
