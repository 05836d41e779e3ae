"""A file put together from parts is the file, in whatever order its bytes come and whoever reads them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuenv.downloads.assembly import Assembly
from gpuenv.downloads.pace import Pace, Sharing
from gpuenv.downloads.schedule import Schedule

CONTENT = bytes(range(256)) * 4


class InMemory:
    """What is kept, in a list."""

    def __init__(self) -> None:
        self.content = b""

    def add(self, chunk: bytes) -> None:
        self.content += chunk

    def empty(self) -> None:
        self.content = b""


def assembly(front: int = 0) -> tuple[Assembly, InMemory]:
    kept = InMemory()
    kept.add(CONTENT[:front])
    file = Assembly(kept, front)
    file.learn_length(len(CONTENT))
    return file, kept


@given(st.integers(0, 1000), st.lists(st.tuples(st.booleans(), st.integers(0, 50), st.integers(1, 300))))
def test_the_bytes_are_kept_in_order_and_once(front: int, steps: list[tuple[bool, int, int]]) -> None:
    file, kept = assembly(front)
    counted = front
    for is_split, number, count in steps:
        segment = file.segments[number % len(file.segments)]
        if is_split and segment.missing > count:
            file.split(segment, segment.reached + count)
        else:
            position = segment.reached
            counted += file.put(segment, position, CONTENT[position : position + count])
        assert CONTENT.startswith(kept.content)
        assert len(kept.content) == file.front
        assert counted == file.received
    while not file.is_whole:
        for segment in tuple(file.segments):
            file.put(segment, segment.reached, CONTENT[segment.reached :])
    assert kept.content == CONTENT


def test_of_two_who_read_the_same_the_first_counts() -> None:
    file, kept = assembly()
    (segment,) = file.segments
    assert file.put(segment, 0, CONTENT[:10]) == 10
    assert file.put(segment, 0, CONTENT[:10]) == 0
    assert kept.content == CONTENT[:10]


def test_what_is_read_of_a_file_that_was_begun_anew_counts_for_nothing() -> None:
    file, kept = assembly()
    (segment,) = file.segments
    file.put(segment, 0, CONTENT[:10])
    file.begin_anew()
    assert file.put(segment, 10, CONTENT[10:]) == 0
    assert kept.content == b""
    assert file.received == 0


def test_little_of_a_file_waits_in_memory() -> None:
    """However fast other parts come, none is read that is far from what is kept."""
    file = Assembly(InMemory())
    file.learn_length(4 << 30)
    schedule = Schedule(file, Pace(Sharing()), Sharing())
    first = file.segments[0]
    file.split(first, 8 << 20)
    first.begin(0.0)
    while (segment := schedule.choose(0.1, 3)) is not None:
        segment.begin(0.1)
        segment.reached = segment.end or 0
    assert max(item.reached for item in file.segments) < 64 << 20


def test_what_is_silent_is_asked_for_again_but_not_without_end() -> None:
    file = Assembly(InMemory())
    file.learn_length(100)
    schedule = Schedule(file, Pace(Sharing()), Sharing(silent_s=2))
    (first,) = file.segments
    first.begin(0.0)
    assert schedule.choose(1.0, 1) is None
    assert schedule.choose(3.0, 1) is first
    first.begin(3.0)
    assert schedule.choose(6.0, 1) is first
    first.begin(6.0)
    assert schedule.choose(60.0, 1) is None
    schedule.moved()
    assert schedule.choose(60.0, 1) is first
