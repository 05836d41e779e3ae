"""The fewest reasons that cover every rejected build: checked against trying all."""

from __future__ import annotations

from itertools import combinations

from building import case
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.resolution.candidate import Failure, FailureKey
from gpuenv.resolution.decision import RejectedCandidate
from gpuenv.resolution.report.minimal_reasons import conflict_sets, fewest_reasons

A, B, C, D = "python", "platform", "companion", "known-bad"  # as they rank
KEYS = st.tuples(st.sampled_from((A, B, C, D)), st.sampled_from("xyz"))
BUILDS = st.lists(st.lists(KEYS, min_size=1, max_size=4, unique=True), max_size=8)


def judged(builds: list[list[tuple[str, str]]]) -> tuple[RejectedCandidate, ...]:
    return tuple(
        RejectedCandidate(
            case(f"1.{number}"),
            tuple(
                Failure(rule=rule, subject=subject, detail=f"{rule} {subject} {number}", source="test")
                for rule, subject in keys
            ),
        )
        for number, keys in enumerate(builds)
    )


def least(builds: list[list[tuple[str, str]]]) -> int:
    keys = {key for build in builds for key in build}
    sizes = (
        count
        for count in range(len(keys) + 1)
        for chosen in combinations(keys, count)
        if all(set(build) & set(chosen) for build in builds)
    )
    return next(sizes)


@given(BUILDS)
def test_they_are_as_few_as_can_be_and_tell_each_build_once(builds: list[list[tuple[str, str]]]) -> None:
    groups = fewest_reasons(judged(builds))
    assert len(groups) == least(builds)
    assert sum(map(len, groups)) == len(builds)
    assert all(len({failure.key for failure in group}) == 1 for group in groups)


@given(BUILDS)
def test_the_reason_that_tells_most_stands_first(builds: list[list[tuple[str, str]]]) -> None:
    sizes = [len(group) for group in fewest_reasons(judged(builds))]
    assert sizes == sorted(sizes, reverse=True)


def test_the_greedy_choice_is_not_taken_where_two_reasons_do() -> None:
    builds = [
        [(A, "x")],
        [(A, "x"), (C, "x")],
        [(A, "x"), (C, "x")],
        [(B, "x"), (C, "x")],
        [(B, "x"), (C, "x")],
        [(B, "x")],
    ]
    assert {group[0].rule for group in fewest_reasons(judged(builds))} == {A, B}


def test_of_equally_few_the_rule_that_ranks_first_speaks() -> None:
    (group,) = fewest_reasons(judged([[(D, "x"), (B, "x")], [(B, "x"), (D, "x")]]))
    assert group[0].rule == B


@given(BUILDS)
def test_with_all_that_collides_changed_one_build_is_left(builds: list[list[tuple[str, str]]]) -> None:
    groups = conflict_sets(judged(builds))
    reported = {group[0].key for group in groups}
    assert not builds or any(
        {FailureKey(rule, "", subject) for rule, subject in build} <= reported for build in builds
    )
    assert groups[: least(builds)] == fewest_reasons(judged(builds))
