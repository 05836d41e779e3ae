"""One more connection is worth it as long as the one before made the download faster."""

from __future__ import annotations

from gpuenv.downloads.pace import Pace, Sharing

QUICK = Sharing(start_s=0, period_s=1, worth_s=3, least_part=100)


def paced(*rates: int) -> Pace:
    """Measure a second of each rate, one connection more each time."""
    pace, received = Pace(QUICK), 1
    pace.measure(0.0, received)
    for second, rate in enumerate(rates):
        if second:
            pace.added(float(second))
        received += rate
        assert pace.measure(second + 1.0, received)
    return pace


def test_a_slow_download_wants_more() -> None:
    assert paced(1000).wants_more(10_000)


def test_what_is_nearly_there_wants_no_more() -> None:
    assert not paced(1000).wants_more(2000)


def test_a_connection_that_makes_it_faster_is_followed_by_another() -> None:
    assert paced(1000, 2000).wants_more(100_000)


def test_a_connection_that_is_of_no_use_is_the_last() -> None:
    pace = paced(1000, 1050)
    assert not pace.wants_more(100_000)
    assert pace.settled


def test_parts_are_smaller_at_the_end_but_never_tiny() -> None:
    pace = paced(10_000)
    sizes = [pace.part_size(2, unread) for unread in (1_000_000, 20_000, 100)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 7500
    assert sizes[-1] >= QUICK.least_part
