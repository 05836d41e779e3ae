"""What is shown of the work of a conda tool."""

from __future__ import annotations

import pytest
from rich.progress import Progress

from gpuenv.cli.color import choose_color
from gpuenv.cli.progress import ProgressKind, _new_progress, following
from gpuenv.cli.progress_columns import AmountsColumn


def test_without_a_terminal_each_phase_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with following("fetching packages", quiet=False) as shown:
        shown.phase("selecting packages")
        for done in (0, 50, 100):
            shown.bytes(done, 100)
        for done in (1, 2):
            shown.phase("installing packages", done, 2)
        shown.end()
    out, err = capsys.readouterr()
    assert (out, err) == ("", "selecting packages\nfetching packages\ninstalling packages\n")


def test_quietly_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with following("fetching packages", quiet=True) as shown:
        shown.phase("selecting packages")
        shown.bytes(1, 100)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (84_200_000, 1_900_000_000, "84.2 MB/1.9 GB"),
        (999, 50_000, "999 B/50 kB"),
        (5_000_000, None, "5.0 MB"),
    ],
)
def test_each_amount_has_a_unit_of_its_own(done: int, total: int | None, text: str) -> None:
    """84 MB of 1.9 GB were shown as `0.1/1.9 GB`, and 40 MB as `0.0`."""
    progress = Progress()
    task = progress.add_task("", total=total, completed=done)
    assert AmountsColumn().render(progress.tasks[task]).plain == text


@pytest.mark.parametrize("kind", ["spinner", "bytes", "count"])
def test_what_is_drawn_has_no_colour_where_none_is_wanted(kind: ProgressKind) -> None:
    choose_color("never", {})
    try:
        assert _new_progress(kind).console.no_color
        choose_color("always", {})
        assert not _new_progress(kind).console.no_color
    finally:
        choose_color("auto", {})
