"""The fewest sets that hold everything, against trying every combination."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.fleet.grouping import set_cover as module
from gpuenv.fleet.grouping.set_cover import Option, bits, fewest_groups

OPTIONS = st.lists(st.builds(Option, st.integers(1, 255), st.integers(0, 5)), min_size=1, max_size=9)


def union(options: list[Option]) -> int:
    whole = 0
    for option in options:
        whole |= option.mask
    return whole


def cost(options: list[Option]) -> tuple[int, list[int]]:
    return len(options), sorted((option.rank for option in options), reverse=True)


@given(OPTIONS)
def test_no_combination_of_the_options_is_better(options: list[Option]) -> None:
    chosen = [options[fewest_group] for fewest_group in fewest_groups(options)]
    covers = (
        list(several)
        for count in range(1, len(options) + 1)
        for several in combinations(options, count)
        if union(list(several)) == union(options)
    )
    assert union(chosen) == union(options)
    assert cost(chosen) == min(map(cost, covers))


@given(OPTIONS)
def test_the_best_group_is_told_first(options: list[Option]) -> None:
    ranks = [options[fewest_group].rank for fewest_group in fewest_groups(options)]
    assert ranks == sorted(ranks)


def test_without_an_option_there_is_no_group() -> None:
    assert fewest_groups([]) == ()


def test_where_it_takes_too_long_the_best_cover_found_so_far_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = [Option(1 << position | 1 << (position + 7) % 20, position % 5) for position in range(20)]
    monkeypatch.setattr(module, "_MOST_STEPS", 3)
    chosen = fewest_groups(options)
    assert union([options[position] for position in chosen]) == union(options)


@given(st.integers(0, 2**40))
def test_bits_are_the_places_of_the_bits(mask: int) -> None:
    assert sum(1 << bit for bit in bits(mask)) == mask
