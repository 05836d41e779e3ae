"""api-changes.json: what each row says of code, and of nothing else."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from modern_code import CODE
from packaging.version import Version

from gpuenv import matrices
from gpuenv.adapt.risks.api_risks import places_of
from gpuenv.knowledge.api_changes import parse_api_change, parse_api_changes
from gpuenv.knowledge.schema.field_types import check_fields
from gpuenv.knowledge.schema.tables import FIELDS

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
builder = importlib.import_module("matrix_tables.api_changes")
facts = importlib.import_module("matrix_tables.facts")

ROWS = matrices.load("api-changes")
KNOWN = parse_api_changes(ROWS)
SEEN = [row for row in ROWS if row["pattern"]]
NAMES = {"python": "a.py", "c++": "a.cu", "shell": "a.sh"}


@pytest.mark.parametrize("row", SEEN, ids=lambda row: row["id"])
def test_a_pattern_finds_its_own_sample_in_each_of_its_languages(row: dict[str, object]) -> None:
    change = parse_api_change(row)
    for language in change.languages:
        sample = str(row["sample"])
        padded = f"x = 1\n{sample}\n" if "\n" not in sample and sample.lstrip() == sample else f"\n{sample}\n"
        uses = places_of((change,), [(NAMES[language], padded)], 3)
        assert uses[change.id].first == (f"{NAMES[language]}:2",)


def test_code_written_for_the_newest_releases_is_concerned_by_nothing() -> None:
    gone = [change for change in KNOWN if change.kind != "added"]
    assert places_of(gone, CODE, 3) == {}


def test_code_written_for_the_newest_releases_shows_what_older_ones_lack() -> None:
    added = [change for change in KNOWN if change.kind == "added"]
    uses = places_of(added, CODE, 1)
    assert {"torch-has-compile", "torch-has-rms-norm", "torch-has-inference-mode", "vision-has-v2"} <= set(
        uses
    )


def test_every_row_has_both_languages_and_an_address() -> None:
    for row in ROWS:
        assert re.search(r"[\u4e00-\u9fff]", row["text_zh"]) or row["kind"] == "added"
        assert not row["text_en"].endswith(".")
        assert (
            row["text_en"][0] in "`/"
            or row["text_en"].startswith(("BatchNorm", "Python"))
            or row["text_en"][0].islower()
        )
        assert re.fullmatch(r"https://\S+", row["source"])


def test_rows_are_sorted_by_release_within_a_project() -> None:
    order = [(row["project"], Version(row["version"])) for row in ROWS]
    assert order == sorted(order)


def test_a_pattern_is_told_and_shown_or_neither() -> None:
    assert all((row["pattern"] is None) == (row["sample"] is None) for row in ROWS)
    assert all(row["pattern"] or row["kind"] != "added" for row in ROWS)


@pytest.mark.parametrize(
    ("field", "value"),
    [("pattern", "("), ("kind", "gone"), ("version", "x"), ("languages", []), ("often", 1), ("id", "A B")],
)
def test_a_garbled_row_is_told(field: str, value: object) -> None:
    (fields,) = FIELDS["api-changes"].values()
    assert list(check_fields(dict(ROWS[0]), fields)) == []
    assert len(list(check_fields({**ROWS[0], field: value}, fields))) == 1


@pytest.mark.parametrize("field", ["id", "kind", "needs", "text_zh"])
def test_a_row_that_is_none_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=r"is not a valid row of api-changes|is not one of"):
        parse_api_change({**ROWS[0], field: None} if field == "kind" else _without(field))


def _without(field: str) -> dict[str, object]:
    return {name: value for name, value in ROWS[0].items() if name != field}


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"pattern": "x"}, "needs both"),
        ({"sample": "x"}, "needs both"),
        ({"pattern": r"\.symeig\(", "sample": "eigh"}, "does not match its sample"),
    ],
)
def test_a_pattern_without_its_sample_is_refused(
    entry: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = {"repository": {}, "change": [{"id": "one", "version": "1.0", **entry}]}
    monkeypatch.setattr(builder, "read_toml", lambda _: document)
    with pytest.raises(facts.UnusableFacts, match=told):
        builder.build_api_changes()
