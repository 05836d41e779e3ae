"""What a library was compiled for is found however its bytes are cut, and only what is there."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_wheels import fatbin, library

from gpuenv.wheels.cuda_architectures import (
    CodeFinder,
    Finder,
    FlagFinder,
    parse_fatbin,
    parse_flags,
    parse_gencode,
)

_ARCHITECTURES = st.lists(
    st.builds(
        lambda kind, major, minor, suffix: f"{kind}_{major}{minor}{suffix}",
        st.sampled_from(["sm", "compute"]),
        st.integers(3, 15),
        st.integers(0, 9),
        st.sampled_from(["", "", "", "a", "f"]),
    ),
    min_size=2,
    max_size=12,
    unique=True,
)
GENCODE = (
    "-gencode;arch=compute_37,code=sm_37;-gencode;arch=compute_70,code=sm_70;"
    "-gencode;arch=compute_37,code=compute_37"
)


def search(finder: Finder, data: bytes, cuts: list[int]) -> list[str] | None:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        architectures = finder.feed(data[start:end])
        if architectures is not None:
            return [str(item) for item in architectures]
    last = finder.finish()
    return None if last is None else [str(item) for item in last]


def ordered(words: list[str]) -> list[str]:
    return [str(item) for item in parse_flags(" ".join(words))]


@given(_ARCHITECTURES, st.lists(st.integers(0, 10_000), max_size=30))
def test_a_list_is_found_wherever_the_chunks_are_cut(words: list[str], cuts: list[int]) -> None:
    data = library(" ".join(words), size=4000)
    assert search(FlagFinder(), data, cuts) == ordered(words)


@given(st.lists(st.integers(0, 10_000), max_size=30))
def test_nvcc_flags_are_found_wherever_the_chunks_are_cut(cuts: list[int]) -> None:
    data = b"x" * 3000 + GENCODE.encode() + b"\0" + b"y" * 3000
    assert search(CodeFinder(), data, cuts) == ["sm_37", "sm_70", "compute_37"]


@given(st.lists(st.integers(0, 10_000), max_size=30))
def test_code_objects_are_found_wherever_the_chunks_are_cut(cuts: list[int]) -> None:
    item = fatbin((1, 50), (2, 35), (2, 70))
    data = b"x" * 777 + item + b"\0" * 24 + item * 5
    assert search(CodeFinder(), data, cuts) == ["sm_35", "sm_70", "compute_50"]


@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=5))
def test_random_bytes_hold_nothing(data: bytes, cuts: list[int]) -> None:
    assert search(FlagFinder(), data, cuts) is None
    assert search(CodeFinder(), data, cuts) is None


def test_one_word_counts_when_it_is_the_only_one() -> None:
    assert search(FlagFinder(), b"a\0sm_87\0b", []) == ["sm_87"]
    assert search(FlagFinder(), b"a\0sm_87\0b\0sm_72\0", [5]) is None
    assert search(FlagFinder(), b"a\0sm_87\0b\0sm_72 sm_87\0", [5]) == ["sm_72", "sm_87"]


@pytest.mark.parametrize(
    "data",
    [
        b"\0sm_80 sm_90",
        b"sm_80 sm_90x\0",
        b"\0sm_80 sm_90 and more\0",
        b"say sm_80 sm_90\0",
        b"\0sm_ sm_90\0",
    ],
)
def test_what_only_resembles_a_list_is_none(data: bytes) -> None:
    assert search(FlagFinder(), b"begin" + data, []) is None


def test_flags_that_are_cut_off_are_none() -> None:
    assert search(CodeFinder(), GENCODE.encode(), []) is None


def test_code_objects_that_disagree_are_no_answer() -> None:
    data = fatbin((2, 35)) + fatbin((2, 70)) * 4
    assert search(CodeFinder(), data, []) is None


def test_what_looks_like_a_code_object_is_stepped_over() -> None:
    false = fatbin((2, 35))[:4] + b"\xff" * 20
    assert search(CodeFinder(), false + fatbin((2, 70)) * 4, []) == ["sm_70"]


def test_code_for_one_gpu_in_several_ways_is_read() -> None:
    assert [str(item) for item in parse_gencode("-gencode;arch=compute_90,code=[sm_90,compute_90]")] == [
        "sm_90",
        "compute_90",
    ]


@given(st.binary(min_size=16, max_size=300))
def test_a_garbled_code_object_is_a_value_error(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert parse_fatbin(data)
