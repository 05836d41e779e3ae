"""Work goes on a few at a time; what fails or hangs stops no other, and a defect is not swallowed."""

from __future__ import annotations

import threading

import pytest

from gpuenv.http.errors import HttpProblem
from gpuenv.http.pool import in_turns


def test_no_more_work_at_a_time_than_is_allowed() -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def work() -> int:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.005)
        with lock:
            running[0] -= 1
        return 1

    answers = dict(in_turns([work] * 20, at_a_time=3, limit_s=10))
    assert (answers, most[0] <= 3) == (dict.fromkeys(range(20), 1), True)


def test_a_problem_is_an_answer_and_a_defect_is_raised() -> None:
    def refused() -> int:
        raise HttpProblem("refused the connection")

    def defect() -> int:
        raise ZeroDivisionError

    answers = dict(in_turns([refused, lambda: 2], at_a_time=1, limit_s=10))
    assert isinstance(answers[0], HttpProblem)
    assert answers[1] == 2
    with pytest.raises(ZeroDivisionError):
        list(in_turns([defect], at_a_time=1, limit_s=10))


def test_what_hangs_is_given_up_and_the_others_go_on() -> None:
    never = threading.Event()
    answers = dict(in_turns([lambda: never.wait(30), lambda: True], at_a_time=1, limit_s=0.1))
    never.set()
    assert isinstance(answers[0], HttpProblem)
    assert "timed out" in answers[0].reason
    assert answers[1] is True


def test_nothing_to_do_is_nothing() -> None:
    assert list(in_turns([], at_a_time=8, limit_s=1)) == []
