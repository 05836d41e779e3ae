"""Which words a regular expression needs: whole ones between blanks, parts of others, one way a branch."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def regex_words(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    return importlib.import_module("matrix_tables.regex_words")


@pytest.mark.parametrize(
    ("regex", "ways"),
    [
        ("no module named", [[" module ", "named", "no"]]),
        ("(?:no|not) module named torch", [[" module ", " named ", "torch"]]),
        ("CUDA_ERROR_UNKNOWN", [["cuda_error_unknown"]]),
        ("libcuda(?:rt)?_x", [["libcuda", "_x"]]),
        (r"gpu (?:lost|gone)", [["gpu", "gone"], ["gpu", "lost"]]),
        ("显卡(?:太旧|过低)", [["显卡", "太旧"], ["显卡", "过低"]]),
    ],
)
def test_the_words_of_an_expression(regex_words: Any, regex: str, ways: list[list[str]]) -> None:
    assert sorted(map(sorted, regex_words.words_needed(regex))) == sorted(map(sorted, ways))


@pytest.mark.parametrize(
    ("regex", "ways"),
    [
        ("[Nn]o such [Dd]evice", [["device", " such ", "no"]]),
        (r"unsupported (?:gpu|card) (?:lost|gone)", [["unsupported", "gone|lost", "card|gpu"]]),
        (r"unsupported (?:gpu|\w+)", [["unsupported"]]),
        (r"gpu (?:lost|gone)", [["gone", "gpu"], ["lost", "gpu"]]),
    ],
)
def test_what_tells_enough_by_itself_needs_one_of_the_other_words(
    regex_words: Any, regex: str, ways: list[list[str]]
) -> None:
    assert regex_words.needs_of(regex) == ways


@pytest.mark.parametrize("regex", [r"\w+", ".*", "(?:a|long)", "(?:long)?"])
def test_an_expression_that_needs_no_word_is_refused(regex_words: Any, regex: str) -> None:
    with pytest.raises(importlib.import_module("matrix_tables.facts").UnusableFacts):
        regex_words.words_needed(regex)
