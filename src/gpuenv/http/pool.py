"""Run jobs concurrently, a few at a time, each with a time limit."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from gpuenv.http.errors import HttpProblem, timed_out

T = TypeVar("T")

_LISTEN_S = 0.5  # Windows lets no Ctrl-C through while a thread waits


def in_turns(
    jobs: Sequence[Callable[[], T]], *, at_a_time: int, limit_s: float
) -> Iterator[tuple[int, T | HttpProblem]]:
    """Yield each job's number and result, or HttpProblem, as they finish; raise other errors."""
    answers: queue.SimpleQueue[tuple[int, T | BaseException]] = queue.SimpleQueue()
    waiting = iter(range(len(jobs)))
    ends: dict[int, float] = {}

    def work(offset: int) -> None:
        try:
            answers.put((offset, jobs[offset]()))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            answers.put((offset, error))

    def begin() -> None:
        offset = next(waiting, None)
        if offset is not None:
            ends[offset] = time.monotonic() + limit_s
            threading.Thread(target=work, args=(offset,), daemon=True).start()

    for _ in range(at_a_time):
        begin()
    while ends:
        position, answer = _next(answers, ends, limit_s)
        if ends.pop(position, None) is None:
            continue  # it was given up
        begin()
        if isinstance(answer, BaseException) and not isinstance(answer, HttpProblem):
            raise answer
        yield position, answer


def _next(
    answers: queue.SimpleQueue[tuple[int, T | BaseException]], ends: dict[int, float], limit_s: float
) -> tuple[int, T | BaseException]:
    position, end = min(ends.items(), key=lambda item: item[1])
    while (left := end - time.monotonic()) > 0:
        with suppress(queue.Empty):
            return answers.get(timeout=min(left, _LISTEN_S))
    return position, HttpProblem(timed_out(limit_s))
