"""Tables are aligned as a terminal shows them, whatever the language."""

from __future__ import annotations

from gpuenv.cli.table import render_table
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
