"""What others wrote does nothing to a terminal, and what people write stays as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.cli.output import note, print_data, print_file
from gpuenv.untrusted.printable import printable

_DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(st.text())
def test_nothing_is_left_that_steers_a_terminal_or_turns_a_line(text: str) -> None:
    for letter in printable(text):
        assert letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Zl", "Zp")
        assert unicodedata.bidirectional(letter) not in _DIRECTIONS


@given(st.text(st.characters(categories=("L", "M", "N", "P", "S", "Zs"))))
def test_letters_of_every_script_stay(text: str) -> None:
    assert printable(text) == text


def test_what_goes_can_still_be_seen() -> None:
    assert printable("a\x1b]0;title\x07\u202egpj.exe\r\nb") == "a\\x1b]0;title\\x07\\u202egpj.exe\\r\nb"


def test_a_file_stays_as_it_is_in_a_pipe_and_messages_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    print_file("a\x1b")
    print_data("b\x1b")
    note("c\x1b")
    assert capsys.readouterr() == ("a\x1b\nb\\x1b\n", "c\\x1b\n")
