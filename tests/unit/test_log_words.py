"""A page's words, found at once or line by line, are the same; so are those that leave expressions out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.signatures.log_pages import JoinedPage, LogPage, joined, pages, without_repetitions
from gpuenv.signatures.unquote import as_written
from gpuenv.signatures.vocabulary import Vocabulary, lines_of, words_of

STARTS = (
    "", "  ", "[rank0]: ", "[[rank12]]:", "(EngineCore_0 pid=12) INFO 03-04 10:11:12 [a.py:3] ", "12: ",
    "2026-01-02T03:04:05.678Z ", "#12 34.56 ", "worker-1  | ", "worker-1 |", "> ", ">", "ERROR:root:",
    "2026-01-02 10:00:00,123 - my.module - ERROR - ", "[2026-01-02 10:00:00,123] WARNING: ", "12:",
    "Nov 21 10:00:00 host python[12]: ", "2026-01-02 10:00:00 step 5 ", "INFO", "│ ", "╰─> ", "2026-01-02T",
)  # fmt: skip
WORDS = (
    "RuntimeError:",
    "CUDA",
    "error",
    '\\"torch\\"',
    "sm_120",
    "12",
    "不支持",
    "É",
    "İ",
    "│",
    "x" * 390,
    "\t",
)
ENDS = ("\n", "\r\n", "\r", "\n\n", " \n", "")
LINES = st.builds(
    lambda start, words, end: start + " ".join(words) + end,
    st.sampled_from(STARTS), st.lists(st.sampled_from(WORDS), max_size=5), st.sampled_from(ENDS),
)  # fmt: skip
TEXTS = st.lists(LINES, min_size=1, max_size=12).map("".join)


@given(TEXTS)
def test_the_words_of_a_page_are_those_of_its_lines(text: str) -> None:
    page = LogPage(1, text)
    line_by_line = JoinedPage(page)
    assert joined(page).text == line_by_line.text
    for position in range(0, len(line_by_line.text), 7):
        lines = joined(page).lines_of(position, position + 1)
        assert lines == line_by_line.lines_of(position, position + 1)
        assert line_by_line.text[position].strip() == "" or line_by_line.text[position] in lines[0][1]


@given(TEXTS, st.integers(0, 60), st.integers(1, 12))
def test_a_part_of_a_word_that_is_there_is_not_missed(text: str, start: int, length: int) -> None:
    lower = text.lower()
    part = lower[start : start + length]
    if part and all(letter.isalnum() or letter == "_" for letter in part) and len(lower) == len(text):
        (page,) = pages(text)
        assert Vocabulary(words_of(lines_of(page)), page.text).has_all([part])


@pytest.mark.parametrize(
    ("need", "there"),
    [
        (" cuda ", True),
        ("cud", True),
        (" cud ", False),
        ("sm_120", True),
        ("sm_121", False),
        (" 120 ", False),
    ],
)
def test_whole_words_parts_and_digits_are_told_apart(need: str, there: bool) -> None:
    page = LogPage(1, "CUDA error on sm_120\n")
    assert Vocabulary(words_of(lines_of(page)), page.text).has_all([need]) == there


def test_a_hash_and_the_middle_of_an_encoded_image_are_no_words() -> None:
    page = LogPage(1, f"{'0a1b2c3d' * 8}\n{'A' * 120}torchvision{'B' * 120}\nimages\n")
    vocabulary = Vocabulary(words_of(lines_of(page)), page.text)
    assert not vocabulary.has_all(["1b2c"])
    assert not vocabulary.has_all(["torchvision"])
    assert vocabulary.has_all([" images "])


def test_of_lines_that_a_long_log_repeats_the_first_and_the_last_stay_where_they_are() -> None:
    lines = [f"step {number % 10} loss 0.25 of a run that goes on and on" for number in range(20_000)]
    lines[9_000] = "RuntimeError: CUDA error: unspecified launch failure"
    read = without_repetitions("\n".join(lines)).split("\n")
    assert len(read) == len(lines)
    kept = [number for number, line in enumerate(read) if line]
    assert kept == [*range(16), 9_000, *range(20_000 - 16, 20_000)]
    assert [read[number] for number in kept] == [lines[number] for number in kept]


@pytest.mark.parametrize("text", ["step 1\n" * 100, "", "a" * 1_000_000, "\udcff\n" * 300_000 + "x"])
def test_what_repeats_too_little_or_nothing_but_itself_keeps_its_lines(text: str) -> None:
    read = without_repetitions(text)
    assert read.count("\n") == text.count("\n")
    assert read[-1:] == text[-1:]


def test_lines_that_are_alike_are_no_cut_off_line() -> None:
    threads = [
        f"../aten/src/ATen/native/cuda/Indexing.cu:1292: block: [57,0,0], thread: [{at},0,0] failed."
        for at in range(64, 67)
    ]
    lines = [*threads, "Traceback (most recent call last):", '  File "chat.py", line 31, in <module>']
    assert as_written("\n".join(lines)).split("\n") == lines
