"""Tables are aligned as a terminal shows them, whatever the language."""

from __future__ import annotations

import pytest

from gpuenv.cli.table import render_table
from gpuenv.cli.text_width import text_width
from gpuenv.i18n.messages import install_catalogue


def test_columns_stand_under_their_names_where_a_cell_is_chinese() -> None:
    """A Chinese character takes two columns of a terminal."""
    rows = [
        {"name": "tuna", "title": "清华大学", "torch": None},
        {"name": "官方", "title": "x", "torch": "yes"},
    ]
    assert render_table(rows, ("name", "title", "torch")).splitlines() == [
        "name  title     torch",
        "tuna  清华大学  -",
        "官方  x         yes",
    ]


def test_headings_are_translated_where_they_are_words_and_fields_are_not() -> None:
    install_catalogue({"name": "名称"})
    try:
        assert render_table([{"name": "a"}], {"name": "name"}).splitlines() == ["名称", "a"]
        assert render_table([{"name": "a"}], ("name",)).splitlines() == ["name", "a"]
    finally:
        install_catalogue({})


ROWS = [
    {"name": "tuna", "has": ["cp310", "cp311", "cp312", "cp313"], "path": "/a/long/path/without/a/space"},
    {"name": "nju", "has": ["cp312"], "path": "/b"},
]


@pytest.mark.parametrize("width", range(8, 90))
def test_a_table_is_no_wider_than_the_terminal_and_breaks_no_word(width: int) -> None:
    table = render_table(ROWS, ("name", "has", "path"), width=width)
    words = {"tuna", "nju", "cp310", "cp311", "cp312", "cp313", "/b", "/a/long/path/without/a/space"}
    lines, _, left_out = table.partition("\n\n")
    assert all(text_width(line) <= width for line in lines.splitlines())
    assert set(lines.split()) <= words | {"name", "has", "path", "…"}
    assert [line.split()[0] for line in lines.splitlines()] == ["name", "tuna", "nju"]
    assert ("path" in lines) != ("path" in left_out)


@pytest.mark.parametrize("width", [48, 60, 80])
def test_a_reason_is_broken_into_lines_and_never_shortened(width: int) -> None:
    reason = "the page lists wheels whose links lead to another host, which is down since this morning"
    rows = [{"name": "tuna", "has": "yes", "problem": reason}, {"name": "nju", "has": "no", "problem": None}]
    lines = render_table(rows, ("name", "has", "problem"), width=width, prose="problem").splitlines()
    assert all(len(line) <= width for line in lines)
    assert " ".join(" ".join(line[11:].strip() for line in lines[1:-1]).split()) == reason
